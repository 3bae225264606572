//! An option as the run time is told of it: a call of a setter.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::runtime::Runtime;
use crate::value::InProgress;

/// One option that was written and could be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    /// The setter's name, which is mostly the option's.
    pub(crate) name: &'static str,
    pub(crate) value: Value,
}

/// What the setter is called with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Flag(bool),
    Status(u16),
    Bytes(u64),
    Seconds(u64),
    Text(String),
    Texts(Vec<String>),
    /// A variant of an enum of the run time.
    Variant(&'static str, &'static str),
    InProgress(InProgress),
}

/// The options, for a place in the user's text that no error will point to.
pub(crate) fn options(settings: &[Setting], runtime: &Runtime) -> TokenStream {
    let p = runtime.private(Span::mixed_site());
    let calls = settings.iter().map(|setting| setting.call(&p));
    quote!(#p::Options::NONE #(#calls)*)
}

impl Setting {
    fn call(&self, p: &TokenStream) -> TokenStream {
        let setter = Ident::new(self.name, Span::mixed_site());
        let value = match &self.value {
            Value::Flag(flag) => quote!(#flag),
            Value::Status(status) => quote!(#status),
            Value::Bytes(bytes) => {
                // At most 512 MiB, so it fits everywhere; without a suffix it is of the setter's type.
                let bytes = proc_macro2::Literal::u64_unsuffixed(*bytes);
                quote!(#bytes)
            }
            Value::Seconds(seconds) => quote!(#seconds),
            Value::Text(text) => quote!(#text),
            Value::Texts(texts) => quote!(&[#(#texts),*]),
            Value::Variant(ty, variant) => {
                let [ty, variant] = [ty, variant].map(|name| Ident::new(name, Span::mixed_site()));
                quote!(#p::#ty::#variant)
            }
            Value::InProgress(InProgress::Reject) => quote!(#p::InProgress::Reject),
            Value::InProgress(InProgress::Wait { limit_ms, then }) => {
                quote!(#p::InProgress::Wait { limit_ms: #limit_ms, then: #then })
            }
        };
        quote!(.#setter(#value))
    }
}
