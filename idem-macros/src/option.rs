//! The shape that all options share: `key`, `key = value` or `key(…)`, separated by commas.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::token::Paren;

use crate::errors::{Mistake, Mistakes};
use crate::names::{listed, nearest};
use crate::runtime::Runtime;

/// An option's name and its place.
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) span: Span,
}

/// Hands each option to `read`, and goes on after a mistake.
///
/// An option that is unknown or was there before is written down and skipped. `read` may leave tokens
/// behind only when it reports a mistake.
pub(crate) fn each(
    input: ParseStream<'_>,
    known: &[&str],
    mistakes: &mut Mistakes,
    mut read: impl FnMut(&Key, ParseStream<'_>, &mut Mistakes) -> Result<(), Mistake>,
) {
    let mut seen: Vec<String> = Vec::new();
    while !input.is_empty() {
        let outcome = key(input, known).and_then(|key| {
            if seen.contains(&key.name) {
                let message = format!("the option `{}` is given twice", key.name);
                return Err(Mistake::at(key.span, message).help("remove one of them"));
            }
            seen.push(key.name.clone());
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
            mistakes.add(Mistake::at(input.span(), "expected `,` between two options"));
            if !input.peek(syn::Ident::peek_any) {
                skip(input);
            }
        }
    }
}

fn key(input: ParseStream<'_>, known: &[&str]) -> Result<Key, Mistake> {
    let help = format!("the options are {}", listed(known.iter().copied()));
    let Ok(ident) = input.call(syn::Ident::parse_any) else {
        return Err(Mistake::at(input.span(), "expected the name of an option").help(help));
    };
    let name = ident.unraw().to_string();
    if known.contains(&name.as_str()) {
        return Ok(Key { name, span: ident.span() });
    }
    let mistake = Mistake::on(&ident, format!("unknown option `{name}`"));
    Err(match nearest(&name, known.iter().copied()) {
        Some(near) => mistake.help(format!("an option with a similar name exists: `{near}`")),
        None => mistake.help(help),
    })
}

impl Key {
    /// What is between `=` and the next comma, or the next `key =` if the comma was forgotten.
    pub(crate) fn value(&self, input: ParseStream<'_>, help: &str) -> Result<TokenStream, Mistake> {
        let missing = || Mistake::at(self.span, format!("`{}` needs a value", self.name)).help(help);
        input.parse::<Token![=]>().map_err(|_| missing())?;
        let mut value: Vec<TokenTree> = Vec::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            let is_next_key = input.peek(syn::Ident::peek_any)
                && (input.peek2(Token![=]) || input.peek2(Paren))
                && matches!(value.last(), Some(TokenTree::Literal(_) | TokenTree::Ident(_)));
            if is_next_key {
                break;
            }
            value.push(input.parse()?);
        }
        if value.is_empty() { Err(missing()) } else { Ok(value.into_iter().collect()) }
    }

    /// The path after `crate =`.
    pub(crate) fn runtime(&self, input: ParseStream<'_>) -> Result<Runtime, Mistake> {
        let help = "write the path of the run time, without quotes: `crate = my_crate::idem_runtime`";
        let value = self.value(input, help)?;
        syn::parse2(value.clone())
            .map_err(|_| Mistake::on(value, "the value of `crate` is a path").help(help))
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
