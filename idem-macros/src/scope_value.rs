//! `#[derive(ScopeValue)]`: a newtype has the scope value of what it holds.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput, Field, Index, Member, parse_quote_spanned};

use crate::derive;
use crate::errors::{Mistake, Mistakes, ends};
use crate::runtime::{Runtime, site};

const NAME: &str = "scope_value";

/// The impl; the caret of a field that has no scope value is on its type.
pub(crate) fn expand(input: &DeriveInput, mistakes: &mut Mistakes) -> TokenStream {
    let runtime = derive::runtime(&input.attrs, NAME, mistakes);
    let mut generics = input.generics.clone();
    let value = if let Some(field) = field(input, mistakes) {
        derive::refuse(field, NAME, mistakes);
        if derive::is_open(&field.ty, input) {
            let (ty, at) = (&field.ty, ends(&field.ty).0);
            let p = runtime.private(at);
            derive::bound(&mut generics, parse_quote_spanned!(site(at)=> #ty: #p::ScopeValue));
        }
        value(field, &runtime)
    } else {
        // Reported; an impl all the same, or every use of it would be reported too.
        quote!(::std::borrow::Cow::Borrowed(""))
    };

    let name = &input.ident;
    let p = runtime.private(Span::mixed_site());
    let (parameters, arguments, clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #parameters #p::ScopeValue for #name #arguments #clause {
            fn scope_value(&self) -> ::std::borrow::Cow<'_, ::core::primitive::str> {
                #value
            }
        }
    }
}

/// The scope value of the field.
fn value(field: &Field, runtime: &Runtime) -> TokenStream {
    let ty = &field.ty;
    let (start, end) = ends(ty);
    let p = runtime.private(end);
    let open = quote_spanned!(site(start)=> <);
    let close = quote_spanned!(site(end)=> as #p::ScopeValue>::scope_value);
    let member = match &field.ident {
        Some(name) => Member::Named(name.clone()),
        None => Member::Unnamed(Index { index: 0, span: Span::mixed_site() }),
    };
    quote!(#open #ty #close(&self.#member))
}

/// The one field of a struct.
fn field<'a>(input: &'a DeriveInput, mistakes: &mut Mistakes) -> Option<&'a Field> {
    let by_hand = format!("implement `ScopeValue` for `{}` by hand", input.ident);
    let Data::Struct(data) = &input.data else {
        let keyword = derive::keyword(input);
        let message = format!("`ScopeValue` is derived for a struct with one field, not for `{keyword}`");
        mistakes.add(Mistake::on(keyword, message).help(by_hand));
        return None;
    };
    let mut fields = data.fields.iter();
    let first = fields.next();
    match (first, fields.next()) {
        (Some(field), None) => Some(field),
        (None, _) => {
            let message = "`ScopeValue` is derived for a struct with one field, and this one has none";
            mistakes.add(Mistake::on(&input.ident, message).help(by_hand));
            None
        }
        (Some(_), Some(second)) => {
            let message = "`ScopeValue` is derived for a struct with one field, and this is a second";
            mistakes.add(Mistake::on(second, message).help(by_hand));
            None
        }
    }
}
