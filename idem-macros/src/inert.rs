//! `#[derive(Inert)]`: a type is inert if each of its fields is.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput, Field, Type, parse_quote_spanned};

use crate::derive;
use crate::errors::{Mistake, Mistakes, ends};
use crate::runtime::site;

const NAME: &str = "inert";

/// The impl, and a function that asks `Inert` of each field's type, with the caret on it.
pub(crate) fn expand(input: &DeriveInput, mistakes: &mut Mistakes) -> TokenStream {
    let before = mistakes.count();
    let runtime = derive::runtime(&input.attrs, NAME, mistakes);
    // What cannot be read may have been meant for the fields.
    let is_read = mistakes.count() == before;
    let types: Vec<Type> = fields(input, mistakes)
        .into_iter()
        .filter(|_| is_read)
        .filter(|field| !derive::has_flag(field, NAME, "trusted", mistakes))
        .map(|field| derive::without_self(field, input))
        .collect();

    // A field of a generic type is inert or not when the parameter is known; any other is judged here.
    let (open, closed): (Vec<&Type>, Vec<&Type>) = types.iter().partition(|ty| derive::is_open(ty, input));
    let mut generics = input.generics.clone();
    for ty in open {
        let at = ends(ty).0;
        let p = runtime.private(at);
        derive::bound(&mut generics, parse_quote_spanned!(site(at)=> #ty: #p::Inert));
    }
    let asserted = closed.into_iter().map(|ty| quote_spanned!(site(ends(ty).0)=> is_inert::<#ty>();));

    let name = &input.ident;
    let p = runtime.private(Span::mixed_site());
    let (parameters, arguments, clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #parameters #p::Inert for #name #arguments #clause {}

        #[allow(dead_code)]
        const _: () = {
            const fn is_inert<T: ?::core::marker::Sized + #p::Inert>() {}
            const fn fields #parameters() #clause {
                #(#asserted)*
            }
        };
    }
}

fn fields<'a>(input: &'a DeriveInput, mistakes: &mut Mistakes) -> Vec<&'a Field> {
    match &input.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        Data::Union(_) => {
            mistakes.add(
                Mistake::on(derive::keyword(input), "`Inert` cannot be derived for a `union`").help(format!(
                    "if nothing is written through it, say so: `impl Inert for {} {{}}`",
                    input.ident
                )),
            );
            Vec::new()
        }
    }
}
