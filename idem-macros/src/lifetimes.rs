//! Lifetimes of the signature, where they cannot stay as written.

use syn::visit_mut::{self, VisitMut};
use syn::{
    BoundLifetimes, Expr, GenericParam, Ident, Lifetime, ParenthesizedGenericArguments, PredicateType,
    TraitBound, Type, TypeFnPtr, TypeReference,
};

use crate::runtime::site;

/// Makes every lifetime `'static`, elided ones too: the outer function owns its arguments.
pub(crate) fn to_static<T>(node: &T, visit: impl FnOnce(&mut Lifetimes, &mut T)) -> T
where
    T: Clone,
{
    Lifetimes::run(node, "'static", true, visit)
}

/// The type with every lifetime left to inference: the parameters of the inner function are not in scope.
pub(crate) fn to_inferred(ty: &Type) -> Type {
    Lifetimes::run(ty, "'_", false, Lifetimes::visit_type_mut)
}

/// Replaces the lifetimes that the function declares; those of a `for<'a>` stay.
pub(crate) struct Lifetimes {
    replacement: &'static str,
    /// Whether an elided lifetime here is one of the function's. In `Fn(&str)` it is the bound's own.
    elided: bool,
    bound: Vec<Ident>,
}

impl Lifetimes {
    fn run<T: Clone>(
        node: &T,
        replacement: &'static str,
        elided: bool,
        visit: impl FnOnce(&mut Self, &mut T),
    ) -> T {
        let mut node = node.clone();
        visit(&mut Self { replacement, elided, bound: Vec::new() }, &mut node);
        node
    }

    /// Visits what stands under `for<…>`.
    fn under(&mut self, bound: Option<&BoundLifetimes>, visit: impl FnOnce(&mut Self)) {
        let outside = self.bound.len();
        for param in bound.into_iter().flat_map(|bound| &bound.lifetimes) {
            if let GenericParam::Lifetime(param) = param {
                self.bound.push(param.lifetime.ident.clone());
            }
        }
        visit(self);
        self.bound.truncate(outside);
    }

    /// Visits what has elided lifetimes of its own.
    fn apart(&mut self, visit: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.elided, false);
        visit(self);
        self.elided = outside;
    }
}

impl VisitMut for Lifetimes {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        let is_ours = if lifetime.ident == "_" {
            self.elided
        } else {
            lifetime.ident != "static" && !self.bound.contains(&lifetime.ident)
        };
        if is_ours {
            *lifetime = Lifetime::new(self.replacement, site(lifetime.span()));
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        if self.elided && reference.lifetime.is_none() {
            reference.lifetime = Some(Lifetime::new(self.replacement, site(reference.and_token.spans[0])));
        }
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_type_fn_ptr_mut(&mut self, pointer: &mut TypeFnPtr) {
        let bound = pointer.lifetimes.clone();
        self.under(bound.as_ref(), |this| this.apart(|this| visit_mut::visit_type_fn_ptr_mut(this, pointer)));
    }

    fn visit_parenthesized_generic_arguments_mut(&mut self, arguments: &mut ParenthesizedGenericArguments) {
        self.apart(|this| visit_mut::visit_parenthesized_generic_arguments_mut(this, arguments));
    }

    fn visit_trait_bound_mut(&mut self, bound: &mut TraitBound) {
        let lifetimes = bound.lifetimes.clone();
        self.under(lifetimes.as_ref(), |this| visit_mut::visit_trait_bound_mut(this, bound));
    }

    fn visit_predicate_type_mut(&mut self, predicate: &mut PredicateType) {
        let lifetimes = predicate.lifetimes.clone();
        self.under(lifetimes.as_ref(), |this| visit_mut::visit_predicate_type_mut(this, predicate));
    }

    /// Labels of loops look like lifetimes.
    fn visit_expr_mut(&mut self, _: &mut Expr) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens;

    fn static_type(ty: &str) -> String {
        to_static(&syn::parse_str::<Type>(ty).unwrap(), Lifetimes::visit_type_mut)
            .to_token_stream()
            .to_string()
    }

    fn printed(ty: &str) -> String {
        syn::parse_str::<Type>(ty).unwrap().to_token_stream().to_string()
    }

    #[test]
    fn written_and_elided_lifetimes_become_static() {
        for (ty, expected) in [
            ("Json<Cow<'_, str>>", "Json<Cow<'static, str>>"),
            ("Json<Cow<'a, str>>", "Json<Cow<'static, str>>"),
            ("Json<&str>", "Json<&'static str>"),
            ("&'a mut Transaction<'b, Postgres>", "&'static mut Transaction<'static, Postgres>"),
            ("Box<dyn Source + 'a>", "Box<dyn Source + 'static>"),
        ] {
            assert_eq!(static_type(ty), printed(expected), "{ty}");
        }
    }

    #[test]
    fn lifetimes_of_a_bound_stay() {
        for ty in [
            "Box<dyn for<'c> Visit<'c>>",
            "for<'c> fn(&'c str) -> &'c str",
            "fn(&str) -> &str",
            "Box<dyn Fn(&str)>",
        ] {
            assert_eq!(static_type(ty), printed(ty), "{ty}");
        }
    }

    #[test]
    fn a_name_is_bound_only_under_its_binder() {
        assert_eq!(
            static_type("(Box<dyn for<'c> Visit<'c>>, Cow<'c, str>)"),
            printed("(Box<dyn for<'c> Visit<'c>>, Cow<'static, str>)")
        );
    }

    #[test]
    fn a_result_type_is_inferred() {
        let ty = syn::parse_str("Result<Json<Cow<'a, str>>, &'static str>").unwrap();

        let inferred = to_inferred(&ty).to_token_stream().to_string();

        assert_eq!(inferred, printed("Result<Json<Cow<'_, str>>, &'static str>"));
    }
}
