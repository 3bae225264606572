//! The names of header fields.

use syn::LitStr;

use crate::errors::{Mistake, Mistakes};

/// What the run time never replays, because it would be wrong or dangerous on any answer but the first.
const NEVER_REPLAYED: [&str; 22] = [
    "set-cookie",
    "date",
    "content-length",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-authentication-info",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "traceparent",
    "tracestate",
    "traceresponse",
    "request-id",
    "x-request-id",
    "x-correlation-id",
    "x-trace-id",
    "server-timing",
    "idempotent-replayed",
];

/// The name that the string is, as it is spelt: so it is shown to clients.
pub(crate) fn one(literal: &LitStr, mistakes: &mut Mistakes) -> Option<String> {
    let text = literal.value();
    if name(&text).is_none() {
        mistakes.add(
            Mistake::on(literal, format!("`{text}` is not the name of a header field"))
                .help("write letters, digits and hyphens: `\"X-Idempotency-Key\"`"),
        );
        return None;
    }
    Some(text)
}

/// The names that the string lists, separated by commas, in lower case; each may be replayed.
pub(crate) fn replayed(literal: &LitStr, mistakes: &mut Mistakes) -> Vec<String> {
    let text = literal.value();
    let mut names = Vec::new();
    for part in text.split(',').map(str::trim) {
        let Some(name) = name(part) else {
            mistakes.add(
                Mistake::on(literal, format!("`{part}` is not the name of a header field"))
                    .help("write names separated by commas: `\"x-total, x-page\"`"),
            );
            continue;
        };
        if NEVER_REPLAYED.contains(&name.as_str()) {
            mistakes.add(
                Mistake::on(literal, format!("the header `{part}` must not be replayed"))
                    .note("it speaks of one message, one connection or one caller")
                    .help("remove it"),
            );
        } else if names.contains(&name) {
            mistakes.add(
                Mistake::on(literal, format!("the header `{part}` is named twice"))
                    .help("remove one of them"),
            );
        } else {
            names.push(name);
        }
    }
    names
}

/// A token of RFC 9110, section 5.6.2.
fn name(text: &str) -> Option<String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (!text.is_empty() && text.bytes().all(is_token)).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    fn list(text: &str) -> (Vec<String>, usize) {
        let mut mistakes = Mistakes::default();
        let names = replayed(&LitStr::new(text, Span::call_site()), &mut mistakes);
        (names, mistakes.messages().len())
    }

    #[test]
    fn names_are_tokens_in_any_case() {
        assert_eq!(list("X-Total, x_page"), (vec!["x-total".to_owned(), "x_page".to_owned()], 0));
        for text in ["", "x total", "x-total,", "größe", "a:b", "\"x\""] {
            assert_eq!(list(text).1, 1, "{text}");
        }
    }

    #[test]
    fn what_must_not_be_replayed_is_refused() {
        assert_eq!(list("x-total, Set-Cookie, X-Total"), (vec!["x-total".to_owned()], 2));
    }
}
