//! The generic parameters of the outer function.

use proc_macro2::TokenStream;
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

    for parameter in generics.type_params_mut() {
        let at = site(parameter.ident.span());
        let owned: [TypeParamBound; 2] =
            [parse_quote_spanned!(at=> ::core::marker::Send), parse_quote_spanned!(at=> 'static)];
        let elsewhere = clause
            .iter_mut()
            .flat_map(|clause| &mut clause.predicates)
            .find_map(|predicate| bounds_of(predicate, &parameter.ident));
        let bounds = match elsewhere {
            Some(bounds) if parameter.bounds.is_empty() => bounds,
            _ => {
                parameter.colon_token.get_or_insert_with(|| parse_quote!(:));
                &mut parameter.bounds
            }
        };
        let others = std::mem::take(bounds);
        *bounds = owned.into_iter().chain(others).collect::<Punctuated<_, Token![+]>>();
    }
    generics.where_clause = clause.filter(|clause| !clause.predicates.is_empty());
    generics
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
