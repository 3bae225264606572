//! The errors of the library that a client sees, as problem details (RFC 9457).
//!
//! Every body is fixed by what the application has settled, but for `reason` where the key is invalid: nothing of
//! the request, the stored answer or the database's messages can get into one.

mod kind;
mod terms;

use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use self::kind::{Kind, Retry};
pub(crate) use self::terms::{KeyPlace, Terms};
use crate::key::{IdempotencyKey, KeyError};

/// What the `type` of a problem begins with unless the application sets its own base.
///
/// RFC 9457, section 3.1.1, recommends an absolute URI that leads to documentation. It identifies the
/// problem, so it should not change once clients have seen it.
pub const DEFAULT_PROBLEM_BASE: &str = "https://idempotency.example/problems/";

/// An answer that the library gives in the handler's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The request has no key, and needs one.
    KeyMissing,
    /// The request's key is not a key.
    KeyInvalid(KeyError),
    /// The first request with this key has not finished.
    InProgress,
    /// The key belongs to another request.
    KeyReused,
    /// An earlier request left a key row without an answer.
    NeedsReconciliation,
    /// Nothing has run: the database, or a connection to it, was not to be had.
    StoreUnavailable,
    /// Everything was rolled back, for a reason that may have passed by the next attempt.
    Transient,
    /// Nobody can tell whether the transaction committed.
    OutcomeUnknown,
    /// A part of the scope has no value.
    ScopeUnresolved,
    /// The request has no canonical form.
    FingerprintFailed,
    /// The handler's answer cannot be kept, so its work was not either.
    ResponseNotStorable,
    /// The transaction was rolled back although the handler succeeded.
    CommitRejected,
    /// The key table is missing, or is not as it should be.
    StoreMisconfigured,
}

impl Problem {
    /// How long a client is asked to wait, in whole seconds; 1 is the least (RFC 9110, section 10.2.3).
    const RETRY_AFTER_SECS: u16 = 1;

    /// The HTTP status of the answer.
    pub(crate) fn status(self, terms: &Terms) -> StatusCode {
        self.kind(terms).status
    }

    /// The name of the problem for clients that do not compare URIs: the member `code`.
    pub(crate) fn code(self, terms: &Terms) -> &'static str {
        self.kind(terms).code
    }

    /// The body, with `base` before the slug in `type`.
    fn to_json(self, kind: Kind, base: &str) -> String {
        let slug = kind.slug();
        let Kind { status, code, title, detail, retry } = kind;
        let mut json = String::with_capacity(384);

        json.push_str("{\"type\":");
        push_string(&mut json, &[base, &slug]);
        push_text(&mut json, "title", &title);
        push_number(&mut json, "status", status.as_u16());
        push_text(&mut json, "detail", &detail);
        push_text(&mut json, "code", code);
        push_text(&mut json, "retry", retry.word());
        if retry == Retry::Later {
            push_number(&mut json, "retry_after", Self::RETRY_AFTER_SECS);
        }
        if let Self::KeyInvalid(error) = self {
            push_text(&mut json, "reason", error.reason());
            if error == KeyError::TooLong {
                push_number(&mut json, "max", IdempotencyKey::MAX_LEN);
            }
        }
        json.push('}');
        json
    }

    /// The whole answer.
    pub(crate) fn response(self, base: &str, terms: &Terms) -> Response<Bytes> {
        let kind = self.kind(terms);
        let (status, retry) = (kind.status, kind.retry);
        let mut response = Response::new(Bytes::from(self.to_json(kind, base)));
        *response.status_mut() = status;

        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static("en"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if retry == Retry::Later {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(Self::RETRY_AFTER_SECS));
        }
        response
    }
}

fn push_member(json: &mut String, name: &str) {
    json.push_str(",\"");
    json.push_str(name);
    json.push_str("\":");
}

fn push_text(json: &mut String, name: &str, text: &str) {
    push_member(json, name);
    push_string(json, &[text]);
}

fn push_number(json: &mut String, name: &str, number: impl Into<usize>) {
    push_member(json, name);
    json.push_str(&number.into().to_string());
}

/// Appends the concatenated `parts` as one JSON string (RFC 8259, section 7).
fn push_string(json: &mut String, parts: &[&str]) {
    json.push('"');
    for character in parts.iter().flat_map(|part| part.chars()) {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\0'..='\u{1f}' => {
                // Writing to a `String` cannot fail.
                let _ = write!(json, "\\u{:04x}", u32::from(character));
            }
            _ => json.push(character),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests;
