//! Where the run time is, and how the expansion names it.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};

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
    /// Made anew for each place: `quote_spanned!` leaves the spans of interpolated tokens alone.
    pub(crate) fn root(&self, span: Span) -> TokenStream {
        let span = site(span);
        match &self.path {
            None => quote_spanned!(span=> ::idem_runtime),
            Some(path) => quote!(#path).into_iter().map(|token| placed(token, span)).collect(),
        }
    }

    /// What only the expansion needs of the run time.
    pub(crate) fn private(&self, span: Span) -> TokenStream {
        let root = self.root(span);
        let span = site(span);
        quote_spanned!(span=> #root::__private)
    }
}

impl Parse for Runtime {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self { path: Some(input.call(syn::Path::parse_mod_style)?) })
    }
}

/// The token at another place. `$crate` means what it means where it was written.
fn placed(mut token: TokenTree, span: Span) -> TokenTree {
    let is_written_crate = matches!(&token, TokenTree::Ident(ident) if is_dollar_crate(ident));
    token.set_span(if is_written_crate { token.span().located_at(span) } else { span });
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
