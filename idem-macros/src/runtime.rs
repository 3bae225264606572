//! Where the run time is, and how the expansion names it.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::parse::{Parse, ParseStream};

use crate::errors::ends;

/// The path of the run time: `::idem_runtime`, or what `crate = …` says.
#[derive(Default)]
pub(crate) struct Runtime {
    path: Option<syn::Path>,
}

/// Ours, shown where the user's text is.
///
/// Mixed-site keeps our locals apart from the user's, and keeps lints of written code, such as
/// `unused_qualifications`, away from ours.
pub(crate) fn site(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

impl Runtime {
    /// The crate itself, for a place in the user's text.
    ///
    /// Its name is placed where the path was written, or on the attribute: where it cannot be found, that is said once,
    /// because rustc says the same of the same place once.
    pub(crate) fn root(&self, span: Span) -> TokenStream {
        match &self.path {
            None => {
                let colons = site(span);
                let name = Ident::new("idem_runtime", Span::call_site());
                quote_spanned!(colons=> ::#name)
            }
            Some(path) => path.to_token_stream().into_iter().map(as_ours).collect(),
        }
    }

    /// What only the expansion needs of the run time.
    pub(crate) fn private(&self, span: Span) -> TokenStream {
        let root = self.root(span);
        let name = match &self.path {
            None => Ident::new("__private", site(span)),
            Some(path) => Ident::new("__private", Span::call_site().located_at(ends(path).1)),
        };
        let colons = site(span);
        quote_spanned!(colons=> #root::#name)
    }
}

impl Parse for Runtime {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self { path: Some(input.call(syn::Path::parse_mod_style)?) })
    }
}

/// The token as ours, or else lints of written code would see it. `$crate` means what it means where it was written.
fn as_ours(mut token: TokenTree) -> TokenTree {
    if !matches!(&token, TokenTree::Ident(ident) if is_dollar_crate(ident)) {
        token.set_span(Span::call_site().located_at(token.span()));
    }
    token
}

fn is_dollar_crate(ident: &Ident) -> bool {
    ident == "$crate"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_absolute() {
        let runtime = Runtime::default();

        assert_eq!(runtime.private(Span::call_site()).to_string(), ":: idem_runtime :: __private");
    }

    #[test]
    fn another_path_is_used_as_written() {
        let runtime: Runtime = syn::parse_quote!(crate::vendored::idem);

        assert_eq!(runtime.root(Span::call_site()).to_string(), "crate :: vendored :: idem");
    }
}
