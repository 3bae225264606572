//! The attribute and derives of `idem-runtime`, which re-exports them.

mod args;
mod argument;
mod errors;
mod expand;
mod function;
mod generics;
mod handler;
mod known;
mod lifetimes;
mod names;
mod option;
mod pattern;
mod runtime;
mod scope;
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
