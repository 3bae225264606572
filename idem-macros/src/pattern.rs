//! The names an argument's pattern binds, and the pattern that binds only one of them.

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{FieldPat, Ident, Pat, PatIdent, PatWild, Token};

/// The names that `pat` binds, in source order.
pub(crate) fn bindings(pat: &Pat) -> Vec<Ident> {
    let mut bindings = Bindings(Vec::new());
    bindings.visit_pat(pat);
    bindings.0
}

/// The pattern with every name but `wanted` left out, for a match on a reference that binds it as `local`.
///
/// Default binding modes borrow, so `ref` and `mut` go, in nested patterns too. The other names go because
/// they would be unused.
pub(crate) fn only(pat: &Pat, wanted: &Ident, local: &Ident) -> Pat {
    let mut pat = pat.clone();
    Only { wanted, local }.visit_pat_mut(&mut pat);
    pat
}

/// Whether the pattern is the name alone, which then is the argument as a whole.
pub(crate) fn is_plain(pat: &Pat) -> bool {
    match pat {
        Pat::Ident(pat) => pat.subpat.is_none() && is_binding(&pat.ident),
        Pat::Paren(pat) => is_plain(&pat.pat),
        _ => false,
    }
}

/// Unit structs and constants are patterns as well, and look like names; their case tells them apart.
fn is_binding(ident: &Ident) -> bool {
    !ident.to_string().starts_with(char::is_uppercase)
}

struct Bindings(Vec<Ident>);

impl<'ast> Visit<'ast> for Bindings {
    fn visit_pat_ident(&mut self, pat: &'ast PatIdent) {
        // Both sides of an or-pattern bind the same names.
        if is_binding(&pat.ident) && !self.0.contains(&pat.ident) {
            self.0.push(pat.ident.clone());
        }
        visit::visit_pat_ident(self, pat);
    }
}

struct Only<'a> {
    wanted: &'a Ident,
    local: &'a Ident,
}

impl VisitMut for Only<'_> {
    fn visit_pat_mut(&mut self, pat: &mut Pat) {
        if let Pat::Reference(reference) = pat {
            // Under a default binding mode a `&` is refused, and not needed.
            let mut inner = (*reference.pat).clone();
            self.visit_pat_mut(&mut inner);
            *pat = inner;
            return;
        }
        let Pat::Ident(binding) = pat else {
            return visit_mut::visit_pat_mut(self, pat);
        };
        binding.by_ref = None;
        binding.mutability = None;
        if binding.ident == *self.wanted {
            binding.ident = self.local.clone();
            binding.subpat = None;
        } else if let Some((_, mut inner)) = binding.subpat.take() {
            self.visit_pat_mut(&mut inner);
            *pat = *inner;
        } else if is_binding(&binding.ident) {
            *pat = Pat::Wild(PatWild { attrs: Vec::new(), underscore_token: Token![_](Span::mixed_site()) });
        }
    }

    fn visit_field_pat_mut(&mut self, field: &mut FieldPat) {
        let stays_short = field.colon_token.is_none() && self.wanted == self.local;
        if stays_short
            && let Pat::Ident(binding) = &mut *field.pat
            && binding.ident == *self.wanted
        {
            // rustc would report the long form as the author's.
            (binding.by_ref, binding.mutability) = (None, None);
            return;
        }
        // `Order { item }` is short for `Order { item: item }`, and only that can become `item: _`.
        field.colon_token.get_or_insert_with(|| Token![:](Span::mixed_site()));
        visit_mut::visit_field_pat_mut(self, field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::{ToTokens, quote};
    use syn::parse::Parser;

    fn pattern(tokens: proc_macro2::TokenStream) -> Pat {
        Pat::parse_multi.parse2(tokens).unwrap()
    }

    fn only_printed(tokens: proc_macro2::TokenStream, wanted: &str) -> String {
        let wanted = Ident::new(wanted, Span::call_site());
        only(&pattern(tokens), &wanted, &wanted).to_token_stream().to_string()
    }

    #[test]
    fn every_kind_of_pattern_shows_its_names() {
        for (tokens, names) in [
            (quote!(tenant), vec!["tenant"]),
            (quote!(mut tenant), vec!["tenant"]),
            (quote!(_), vec![]),
            (quote!(Json(req)), vec!["req"]),
            (quote!(Path((tenant, order))), vec!["tenant", "order"]),
            (quote!(Json(Order { item, qty: amount, .. })), vec!["item", "amount"]),
            (quote!(whole @ Json(ref part)), vec!["whole", "part"]),
            (quote!([first, .., last]), vec!["first", "last"]),
            (quote!((Left(x) | Right(x))), vec!["x"]),
            (quote!(r#type), vec!["r#type"]),
            (quote!(Marker), vec![]),
        ] {
            let found: Vec<String> =
                bindings(&pattern(tokens.clone())).iter().map(ToString::to_string).collect();
            assert_eq!(found, names, "{tokens}");
        }
    }

    #[test]
    fn only_the_wanted_name_is_left() {
        for (tokens, wanted, expected) in [
            (quote!(mut tenant), "tenant", quote!(tenant)),
            (quote!(Json(ref req)), "req", quote!(Json(req))),
            (quote!(Path((tenant, mut order))), "order", quote!(Path((_, order)))),
            (quote!(Json(Order { item, qty, .. })), "qty", quote!(Json(Order { item: _, qty, .. }))),
            (quote!(Order { ref mut item, qty }), "item", quote!(Order { item, qty: _ })),
            (quote!(Order { qty: amount }), "amount", quote!(Order { qty: amount })),
            (quote!(whole @ Json(part)), "whole", quote!(whole)),
            (quote!(whole @ Json(part)), "part", quote!(Json(part))),
            (quote!((Left(x, y) | Right(y, x))), "x", quote!((Left(x, _) | Right(_, x)))),
            (quote!((Marker, x)), "x", quote!((Marker, x))),
            (quote!(Extension(&limit)), "limit", quote!(Extension(limit))),
        ] {
            assert_eq!(only_printed(tokens, wanted), expected.to_string());
        }
    }

    #[test]
    fn only_a_name_alone_is_plain() {
        assert!(is_plain(&pattern(quote!(tenant))));
        assert!(is_plain(&pattern(quote!(mut tenant))));
        assert!(!is_plain(&pattern(quote!(Extension(tenant)))));
        assert!(!is_plain(&pattern(quote!(whole @ Json(part)))));
        assert!(!is_plain(&pattern(quote!(_))));
    }
}
