//! The attribute and derives of `idem-runtime`, which re-exports them.

mod args;
mod argument;
mod derive;
mod errors;
mod expand;
mod function;
mod generics;
mod handler;
mod inert;
mod known;
mod lifetimes;
mod names;
mod option;
mod pattern;
mod runtime;
mod scope;
mod scope_value;
mod ttl;

use proc_macro2::TokenStream;
use quote::quote;

use crate::errors::Mistakes;

/// Manual.
#[proc_macro_attribute]
pub fn idempotent(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    handler_of(options.into(), item.into()).into()
}

/// Derive.
#[proc_macro_derive(Inert, attributes(inert))]
pub fn derive_inert(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive::derive(item.into(), inert::expand).into()
}

/// Derive.
#[proc_macro_derive(ScopeValue, attributes(scope_value))]
pub fn derive_scope_value(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive::derive(item.into(), scope_value::expand).into()
}

/// Parse, model, resolve, lower; mistakes stand beside the best expansion there is.
fn handler_of(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let args = args::parse(options, &mut mistakes);
    let expansion = match function::parse(item.clone()) {
        Ok(function) => {
            let handler = handler::model(function, &mut mistakes);
            let scope = scope::resolve(&args.scope, &handler, &mut mistakes);
            expand::lower(&args, &handler, &scope)
        }
        Err(mistake) => {
            mistakes.add(mistake);
            item
        }
    };
    let mistakes = mistakes.into_tokens();
    quote!(#mistakes #expansion)
}
