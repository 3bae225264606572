//! All mistakes of one expansion, each with what to do about it.
//!
//! A mistake is written down and the work goes on, so that one build shows them all. The form is rustc's
//! own: lower case, no full stop, code in backticks, the remedy in a `help` line that can be followed
//! literally.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

/// The mistakes found so far, in the order in which they were found.
#[derive(Default)]
pub(crate) struct Mistakes(Vec<Mistake>);

/// One mistake: where it is, the fact, and the lines under it.
pub(crate) struct Mistake {
    start: Span,
    end: Span,
    text: String,
}

impl Mistakes {
    /// Writes a mistake down.
    pub(crate) fn add(&mut self, mistake: Mistake) {
        self.0.push(mistake);
    }

    /// How many there are so far.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The messages, without what to do about them.
    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<&str> {
        self.0.iter().filter_map(|mistake| mistake.text.lines().next()).collect()
    }

    /// One `compile_error!` for each mistake.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.into_iter().map(Mistake::into_tokens).collect()
    }
}

impl Mistake {
    /// A mistake in what `tokens` say; the caret covers them, or the attribute if there are none.
    pub(crate) fn on(tokens: impl ToTokens, message: impl Into<String>) -> Self {
        let (start, end) = ends(tokens);
        Self { start, end, text: message.into() }
    }

    /// A mistake in the place that `span` names.
    pub(crate) fn at(span: Span, message: impl Into<String>) -> Self {
        Self { start: span, end: span, text: message.into() }
    }

    /// Says what to do; an instruction that can be followed literally.
    pub(crate) fn help(self, line: impl AsRef<str>) -> Self {
        self.line("help", line.as_ref())
    }

    /// Gives a reason that the reader may lack.
    pub(crate) fn note(self, line: impl AsRef<str>) -> Self {
        self.line("note", line.as_ref())
    }

    fn line(mut self, kind: &str, line: &str) -> Self {
        // rustc aligns a line that begins like its own sub-diagnostics under the message.
        self.text.push_str("\n= ");
        self.text.push_str(kind);
        self.text.push_str(": ");
        self.text.push_str(line);
        self
    }

    fn into_tokens(self) -> TokenStream {
        let Self { start, end, text } = self;
        // rustc joins the first and the last token to one caret; a stable `Span` covers one token.
        let path = quote_spanned!(start=> ::core::compile_error!);
        let message = quote_spanned!(end=> { #text });
        quote!(#path #message)
    }
}

impl From<syn::Error> for Mistake {
    fn from(error: syn::Error) -> Self {
        Self::at(error.span(), error.to_string())
    }
}

/// The first and the last token's span; the attribute's own if there are no tokens.
pub(crate) fn ends(tokens: impl ToTokens) -> (Span, Span) {
    let mut spans = tokens.into_token_stream().into_iter().map(|token| token.span());
    let start = spans.next().unwrap_or_else(Span::call_site);
    (start, spans.last().unwrap_or(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mistake_is_one_compile_error() {
        let mut mistakes = Mistakes::default();
        mistakes.add(Mistake::on(quote!(a), "first").help("do this").note("because"));
        mistakes.add(Mistake::at(Span::call_site(), "second"));

        let printed = mistakes.into_tokens().to_string();

        assert_eq!(printed.matches("compile_error").count(), 2);
        assert!(printed.contains(r"first\n= help: do this\n= note: because"), "{printed}");
    }

    #[test]
    fn no_mistake_is_no_token() {
        assert!(Mistakes::default().into_tokens().is_empty());
    }
}
