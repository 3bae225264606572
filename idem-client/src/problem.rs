//! What a server says of an error, for programs: problem details (RFC 9457).

use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::Value;

/// The longest body that is read for a problem, in bytes. Read as JSON, a body takes many times its length.
const LONGEST: usize = 64 << 10;

/// What to do with the key after a refusal: the member `retry` of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// `same_key`: wait, and send the same request again.
    SameKey,
    /// `new_key`: do not repeat it; another request needs a new key.
    NewKey,
    /// `fix_request`: the request itself is wrong.
    FixRequest,
    /// `never`: do not repeat it, and ask the operator of the server.
    Never,
}

/// The members of an `application/problem+json` body that a sender acts upon.
///
/// Members that are missing, or of another type than they should be, are absent. A body of more than 64 KiB is no problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    code: Option<String>,
    detail: Option<String>,
    advice: Option<Advice>,
    retry_after_secs: Option<u64>,
}

impl Problem {
    /// Reads the problem in an answer, if there is one.
    pub(crate) fn read(headers: &HeaderMap, body: &Bytes) -> Option<Self> {
        if body.len() > LONGEST || media_type(headers)? != "application/problem+json" {
            return None;
        }
        let body: Value = serde_json::from_slice(body).ok()?;
        let body = body.as_object()?;
        let text = |name: &str| body.get(name).and_then(Value::as_str);
        Some(Self {
            code: text("code").map(str::to_owned),
            detail: text("detail").map(str::to_owned),
            advice: text("retry").and_then(|advice| match advice {
                "same_key" => Some(Advice::SameKey),
                "new_key" => Some(Advice::NewKey),
                "fix_request" => Some(Advice::FixRequest),
                "never" => Some(Advice::Never),
                _ => None,
            }),
            retry_after_secs: body.get("retry_after").and_then(Value::as_u64),
        })
    }

    /// What went wrong, by a name that does not change: `idempotency_key_reused`.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// What went wrong, for people.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// What to do with the key, if the server says so in a word that is known.
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        self.advice
    }

    /// When to come again, in seconds.
    pub(crate) fn retry_after_secs(&self) -> Option<u64> {
        self.retry_after_secs
    }
}

/// The code in an error of Stripe's shape: `{"error":{"code":"…"}}`.
pub(crate) fn stripe_code(headers: &HeaderMap, body: &Bytes) -> Option<String> {
    if body.len() > LONGEST || media_type(headers)? != "application/json" {
        return None;
    }
    let body: Value = serde_json::from_slice(body).ok()?;
    body.get("error")?.get("code")?.as_str().map(str::to_owned)
}

/// The media type of a body in lower case, without parameters.
fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(|essence| essence.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(media_type: &'static str, body: &'static str) -> Option<Problem> {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(media_type))]);
        Problem::read(&headers, &Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn a_problem_is_read_for_what_a_sender_acts_upon() {
        let body = r#"{"status":409,"detail":"Wait.","code":"idempotency_in_progress","retry":"same_key","retry_after":1}"#;

        let problem = read("Application/Problem+JSON; charset=utf-8", body).unwrap();

        assert_eq!(problem.code(), Some("idempotency_in_progress"));
        assert_eq!(problem.detail(), Some("Wait."));
        assert_eq!(problem.advice(), Some(Advice::SameKey));
        assert_eq!(problem.retry_after_secs(), Some(1));
    }

    #[test]
    fn members_that_are_not_as_they_should_be_are_absent() {
        let problem =
            read("application/problem+json", r#"{"code":7,"retry":"later","retry_after":-1}"#).unwrap();

        assert_eq!((problem.code(), problem.advice(), problem.retry_after_secs()), (None, None, None));
    }

    #[test]
    fn other_bodies_are_no_problems() {
        assert_eq!(read("application/json", r#"{"retry":"never"}"#), None);
        assert_eq!(read("application/problem+json", "[1]"), None);
        assert_eq!(read("application/problem+json", r#"{"retry":"#), None);
        assert_eq!(Problem::read(&HeaderMap::new(), &Bytes::from_static(b"{}")), None);
    }
}
