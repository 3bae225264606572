//! The errors of the library that a client sees, as problem details (RFC 9457).
//!
//! Every body is fixed by what the application has settled, but for `reason` where the key is invalid: nothing of
//! the request, the stored answer or the database's messages can get into one.

mod json;
mod kind;
mod shape;
mod stripe;
mod terms;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use self::json::Object;
use self::kind::{Kind, Retry};
pub use self::shape::ErrorShape;
#[cfg(feature = "axum")]
pub use self::shape::Refusal;
#[cfg(feature = "axum")]
use self::shape::Shape;
pub(crate) use self::terms::{KeyPlace, Terms};
use crate::key::{IdempotencyKey, KeyError};
use crate::replay::STRIPE_SHOULD_RETRY;

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

/// What the builder settles about the library's errors.
#[derive(Clone, Debug)]
pub(crate) struct Wording {
    /// What the `type` of a problem begins with.
    pub(crate) base: String,
    /// Where the API's documentation says how its keys are used.
    pub(crate) documentation: Option<String>,
    pub(crate) shape: ErrorShape,
}

impl Default for Wording {
    fn default() -> Self {
        Self { base: DEFAULT_PROBLEM_BASE.to_owned(), documentation: None, shape: ErrorShape::default() }
    }
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

    /// The body as problem details, with `base` before the slug in `type`.
    fn details(self, kind: &Kind, base: &str) -> String {
        let mut body = Object::new();
        body.text("type", &[base, &kind.slug()]);
        body.text("title", &[&kind.title]);
        body.number("status", kind.status.as_u16());
        body.text("detail", &[&kind.detail]);
        body.text("code", &[kind.code]);
        body.text("retry", &[kind.retry.word()]);
        if kind.retry == Retry::Later {
            body.number("retry_after", Self::RETRY_AFTER_SECS);
        }
        if let Self::KeyInvalid(error) = self {
            body.text("reason", &[error.reason()]);
            if error == KeyError::TooLong {
                body.number("max", IdempotencyKey::MAX_LEN);
            }
        }
        body.finish()
    }

    /// The whole answer, in one of the library's own shapes. `key` is the request's, for the shape that names it.
    pub(crate) fn response(
        self,
        wording: &Wording,
        terms: &Terms,
        key: Option<&IdempotencyKey>,
    ) -> Response<Bytes> {
        let kind = self.kind(terms);
        let (media_type, body) = if wording.shape.is_stripe() {
            ("application/json", stripe::body(self, &kind, key))
        } else {
            ("application/problem+json", self.details(&kind, &wording.base))
        };
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = kind.status;

        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static("en"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if kind.retry == Retry::Later {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(Self::RETRY_AFTER_SECS));
        }
        if wording.shape.is_stripe()
            && let Some(should) = stripe::should_retry(kind.retry)
        {
            headers.insert(STRIPE_SHOULD_RETRY, HeaderValue::from_static(should));
        }
        if let Some(link) = wording.documentation.as_deref().and_then(describedby) {
            headers.insert(header::LINK, link);
        }
        response
    }

    /// The answer with a body of the application's, if it has asked for that.
    #[cfg(feature = "axum")]
    pub(crate) fn custom_response(
        self,
        wording: &Wording,
        terms: &Terms,
    ) -> Option<axum::response::Response> {
        let Shape::Custom(render) = &wording.shape.0 else { return None };
        let mut response = render(&Refusal { problem: self, kind: &self.kind(terms), base: &wording.base });

        let (own, _) = self.response(wording, terms, None).into_parts();
        *response.status_mut() = own.status;
        let headers = response.headers_mut();
        // Where the library asks for no delay there is none.
        headers.remove(header::RETRY_AFTER);
        for (name, value) in &own.headers {
            let is_the_bodys = *name == header::CONTENT_TYPE
                || (*name == header::CONTENT_LANGUAGE && headers.contains_key(name));
            if !is_the_bodys {
                headers.insert(name, value.clone());
            }
        }
        Some(response)
    }
}

/// The link to a page that describes the API (draft-ietf-httpapi-idempotency-key-header-07, section 2.7); `None` if
/// `uri` cannot stand in one.
pub(crate) fn describedby(uri: &str) -> Option<HeaderValue> {
    let is_uri =
        !uri.is_empty() && uri.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"".contains(&byte));
    let link = is_uri.then(|| format!("<{uri}>; rel=\"describedby\"; type=\"text/html\""))?;
    HeaderValue::from_str(&link).ok()
}

#[cfg(test)]
mod tests;
