//! The generic parameters of the outer function.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut;
use syn::{
    GenericParam, Generics, Ident, Token, Type, TypeParamBound, WherePredicate, parse_quote,
    parse_quote_spanned,
};

use crate::known::peeled;
use crate::lifetimes::to_static;
use crate::runtime::site;

/// Type and constant parameters, the former with `Send + 'static`; no lifetimes.
///
/// The run moves into a task of its own, which axum asks only of the handler as a whole. The bounds go where
/// the author has put bounds on the parameter: clippy reports bounds in two places. They go first: the last
/// token of the signature is to stay the author's, or rustc takes the function for generated code.
pub(crate) fn outer(written: &Generics) -> Generics {
    let mut generics = to_static(written, |lifetimes, generics| {
        for predicate in generics.where_clause.iter_mut().flat_map(|clause| &mut clause.predicates) {
            lifetimes.visit_where_predicate_mut(predicate);
        }
        for parameter in generics.type_params_mut() {
            parameter.bounds.iter_mut().for_each(|bound| lifetimes.visit_type_param_bound_mut(bound));
        }
    });
    generics.params =
        generics.params.into_iter().filter(|param| !matches!(param, GenericParam::Lifetime(_))).collect();
    if generics.params.is_empty() {
        generics.lt_token = None;
        generics.gt_token = None;
    }
    let mut clause = generics.where_clause.take();
    if let Some(clause) = &mut clause {
        let predicates = std::mem::take(&mut clause.predicates);
        clause.predicates = predicates
            .into_iter()
            .filter(|predicate| !matches!(predicate, WherePredicate::Lifetime(_)))
            .collect();
    }

    generics.where_clause = clause;
    bound(&mut generics, |at| {
        let at = site(at);
        vec![
            ("Send", parse_quote_spanned!(at=> ::core::marker::Send)),
            ("'static", parse_quote_spanned!(at=> 'static)),
        ]
    });
    generics.where_clause = generics.where_clause.filter(|clause| !clause.predicates.is_empty());
    generics
}

/// Adds bounds to every type parameter, each with its last name, but for those that are there already.
pub(crate) fn bound(generics: &mut Generics, owned: impl Fn(Span) -> Vec<(&'static str, TypeParamBound)>) {
    let mut clause = generics.where_clause.take();
    for parameter in generics.type_params_mut() {
        let elsewhere = clause
            .iter_mut()
            .flat_map(|clause| &mut clause.predicates)
            .filter_map(|predicate| bounds_of(predicate, &parameter.ident));
        let mut places: Vec<_> = elsewhere.collect();
        let here = !parameter.bounds.is_empty() || places.is_empty();
        let written: Vec<String> = places
            .iter()
            .flat_map(|bounds| bounds.iter())
            .chain(&parameter.bounds)
            .filter_map(|bound| match bound {
                TypeParamBound::Trait(bound) => bound.path.segments.last().map(|last| last.ident.to_string()),
                TypeParamBound::Lifetime(lifetime) => Some(lifetime.to_string()),
                _ => None,
            })
            .collect();
        let missing = owned(parameter.ident.span())
            .into_iter()
            .filter(|(name, _)| !written.iter().any(|written| written == name))
            .map(|(_, bound)| bound);
        let bounds = match places.first_mut() {
            Some(bounds) if !here => &mut **bounds,
            _ => {
                parameter.colon_token.get_or_insert_with(|| parse_quote!(:));
                &mut parameter.bounds
            }
        };
        let others = std::mem::take(bounds);
        *bounds = missing.chain(others).collect::<Punctuated<_, Token![+]>>();
    }
    generics.where_clause = clause;
}

/// What the outer function passes to the inner one: `::<T, N>`.
pub(crate) fn turbofish(generics: &Generics) -> TokenStream {
    let arguments: Vec<&Ident> = generics
        .params
        .iter()
        .filter_map(|param| match param {
            GenericParam::Type(param) => Some(&param.ident),
            GenericParam::Const(param) => Some(&param.ident),
            GenericParam::Lifetime(_) => None,
        })
        .collect();
    match arguments.first() {
        Some(first) => quote_spanned!(site(first.span())=> ::<#(#arguments),*>),
        None => quote!(),
    }
}

/// The bounds of a predicate on the parameter itself.
fn bounds_of<'a>(
    predicate: &'a mut WherePredicate,
    parameter: &Ident,
) -> Option<&'a mut Punctuated<TypeParamBound, Token![+]>> {
    match predicate {
        WherePredicate::Type(predicate) if matches!(peeled(&predicate.bounded_ty), Type::Path(path) if path.path.is_ident(parameter)) => {
            Some(&mut predicate.bounds)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    fn outer_of(signature: &str) -> (String, String) {
        let signature: syn::Signature = syn::parse_str(signature).unwrap();
        let generics = outer(&signature.generics);
        (generics.to_token_stream().to_string(), generics.where_clause.to_token_stream().to_string())
    }

    /// Equal but for the spaces, which depend on how the tokens came about.
    fn same(printed: &str, expected: &str) {
        let expected = expected.replace("Send", "::core::marker::Send");
        assert_eq!(printed.replace(' ', ""), expected.replace(' ', ""));
    }

    #[test]
    fn bounds_are_added_where_the_author_has_them() {
        for (signature, params, clause) in [
            ("fn f<T>()", "<T: Send + 'static>", ""),
            ("fn f<T: Serialize>()", "<T: Send + 'static + Serialize>", ""),
            ("fn f<T>() where T: Serialize", "<T>", "where T: Send + 'static + Serialize"),
            ("fn f<T>() where Vec<T>: Serialize", "<T: Send + 'static>", "where Vec<T>: Serialize"),
            ("fn f<T: Copy>() where T: Serialize", "<T: Send + 'static + Copy>", "where T: Serialize"),
            ("fn f<T: Copy + 'static>()", "<T: Send + Copy + 'static>", ""),
            ("fn f<T>() where T: Copy + 'static", "<T>", "where T: Send + Copy + 'static"),
        ] {
            let (found_params, found_clause) = outer_of(signature);
            same(&found_params, params);
            same(&found_clause, clause);
        }
    }

    #[test]
    fn lifetimes_go_and_constants_stay() {
        for (signature, params, clause) in [
            ("fn f<'a, 'b: 'a>()", "", ""),
            ("fn f<'a, const N: usize>()", "<const N: usize>", ""),
            ("fn f<'a, 'b, T>() where 'a: 'b, T: Read<'a>", "<T>", "where T: Send + 'static + Read<'static>"),
            ("fn f<T>() where T: for<'c> Read<'c>", "<T>", "where T: Send + 'static + for<'c> Read<'c>"),
            ("fn f<'a>() where 'a: 'static", "", ""),
        ] {
            let (found_params, found_clause) = outer_of(signature);
            same(&found_params, params);
            same(&found_clause, clause);
        }
    }

    #[test]
    fn the_inner_function_is_given_every_parameter_but_lifetimes() {
        let signature: syn::Signature = syn::parse_str("fn f<'a, T: Copy, const N: usize>()").unwrap();

        assert_eq!(turbofish(&signature.generics).to_string(), quote!(::<T, N>).to_string());
    }
}
