//! The shape that all options share: `key`, `key = value` or `key(…)`, separated by commas.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::token::Paren;

use crate::errors::{Mistake, Mistakes};
use crate::names::{listed, nearest};

/// The options that may be written in a place.
pub(crate) struct Known<'a> {
    /// In the order in which the messages list them.
    pub(crate) names: &'a [&'a str],
    /// What is said of an option that belongs elsewhere.
    pub(crate) elsewhere: fn(&Key) -> Option<Mistake>,
}

impl<'a> Known<'a> {
    /// Options that have no relatives elsewhere.
    pub(crate) fn only(names: &'a [&'a str]) -> Self {
        Self { names, elsewhere: |_| None }
    }
}

/// The options that were there already.
#[derive(Default)]
pub(crate) struct Seen {
    written: Vec<String>,
    /// What an option that cannot be read probably was.
    pub(crate) meant: Vec<String>,
}

/// An option's name and its place.
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) span: Span,
}

/// Hands each option to `read`, and goes on after a mistake.
///
/// An option that is unknown or was there before is written down and skipped; `seen` are those that were there. `read` may leave tokens behind only when it reports a mistake.
pub(crate) fn each(
    input: ParseStream<'_>,
    known: &Known<'_>,
    seen: &mut Seen,
    mistakes: &mut Mistakes,
    mut read: impl FnMut(&Key, ParseStream<'_>, &mut Mistakes) -> Result<(), Mistake>,
) {
    while !input.is_empty() {
        let outcome = key(input, known, seen).and_then(|key| {
            if seen.written.contains(&key.name) {
                let message = format!("the option `{}` is given twice", key.name);
                return Err(Mistake::at(key.span, message).help("remove one of them"));
            }
            seen.written.push(key.name.clone());
            read(&key, input, mistakes)
        });
        if let Err(mistake) = outcome {
            mistakes.add(mistake);
            skip(input);
        }
        if input.is_empty() {
            break;
        }
        if input.parse::<Token![,]>().is_err() {
            mistakes.add(
                Mistake::at(input.span(), "expected `,` between two options").help("write a comma before it"),
            );
            if input.parse::<Token![;]>().is_err() && !input.peek(syn::Ident::peek_any) {
                skip(input);
            }
        }
    }
}

fn key(input: ParseStream<'_>, known: &Known<'_>, seen: &mut Seen) -> Result<Key, Mistake> {
    let names = known.names.iter().copied();
    let help = format!("the options are {}", listed(names.clone()));
    let Ok(ident) = input.call(syn::Ident::parse_any) else {
        // A text alone was probably meant for the option that must be there.
        if input.peek(syn::Lit) && known.names.first().is_some_and(|first| *first == "scope") {
            seen.meant.push("scope".to_owned());
        }
        return Err(Mistake::at(input.span(), "expected the name of an option").help(help));
    };
    let key = Key { name: ident.unraw().to_string(), span: ident.span() };
    if known.names.contains(&key.name.as_str()) {
        return Ok(key);
    }
    if let Some(mistake) = (known.elsewhere)(&key) {
        return Err(mistake);
    }
    let mistake = Mistake::on(&ident, format!("unknown option `{}`", key.name));
    Err(match nearest(&key.name, names) {
        Some(near) => {
            seen.meant.push(near.to_owned());
            mistake.help(format!("an option with a similar name exists: `{near}`"))
        }
        None => mistake.help(help),
    })
}

impl Key {
    /// What is between `=` and the next comma, or the next `key =` if the comma was forgotten.
    pub(crate) fn value(&self, input: ParseStream<'_>, help: &str) -> Result<TokenStream, Mistake> {
        let missing = || Mistake::at(self.span, format!("`{}` needs a value", self.name)).help(help);
        input.parse::<Token![=]>().map_err(|_| missing())?;
        let mut value: Vec<TokenTree> = Vec::new();
        // A comma between the arguments of a generic type is none between options.
        let mut depth = 0_usize;
        // Nor is one between the parameters of a closure, which is no value of any option, but one mistake.
        let mut in_closure = false;
        while !input.is_empty()
            && (depth > 0 || in_closure || !input.peek(Token![,]) && !input.peek(Token![;]))
        {
            let is_next_key = depth == 0
                && input.peek(syn::Ident::peek_any)
                && (input.peek2(Token![=]) || input.peek2(Paren))
                && matches!(value.last(), Some(TokenTree::Literal(_) | TokenTree::Ident(_)));
            if is_next_key {
                break;
            }
            let token: TokenTree = input.parse()?;
            match &token {
                TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
                TokenTree::Punct(punct) if punct.as_char() == '>' => depth = depth.saturating_sub(1),
                TokenTree::Punct(punct) if punct.as_char() == '|' => in_closure = !in_closure,
                _ => {}
            }
            value.push(token);
        }
        if value.is_empty() { Err(missing()) } else { Ok(value.into_iter().collect()) }
    }
}

/// Goes on to the next comma.
fn skip(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        // A token tree can always be read where there is one.
        if input.parse::<TokenTree>().is_err() {
            return;
        }
    }
}
