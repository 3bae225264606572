//! The shapes that an application may choose for the library's errors.

use std::fmt;
#[cfg(feature = "axum")]
use std::sync::Arc;
#[cfg(feature = "axum")]
use std::time::Duration;

use http::StatusCode;

#[cfg(feature = "axum")]
use super::Problem;
#[cfg(feature = "axum")]
use super::kind::{Kind, Retry};

/// How the library's own errors look. Problem details if not given.
///
/// Only the library's: what a handler, an extractor or a layer answers is left as it is.
#[derive(Clone, Debug, Default)]
pub struct ErrorShape(pub(super) Shape);

#[derive(Clone, Default)]
pub(super) enum Shape {
    #[default]
    Problem,
    Stripe,
    #[cfg(feature = "axum")]
    Custom(Render),
}

#[cfg(feature = "axum")]
type Render = Arc<dyn Fn(&Refusal<'_>) -> axum::response::Response + Send + Sync>;

impl ErrorShape {
    /// Problem details: `application/problem+json` (RFC 9457).
    #[must_use]
    pub fn problem() -> Self {
        Self(Shape::Problem)
    }

    /// As Stripe's API answers, so that its official clients, and those built like them, behave as they do there.
    ///
    /// - The body is `{"error":{"type":…,"code":…,"message":…}}`, `application/json`. Two of the messages name the key,
    ///   as Stripe's do.
    /// - A mismatch is 400 unless a policy or the builder says otherwise.
    /// - The key is echoed, in the field that it came in, on every answer of a handler or of the library to a request that
    ///   has one that is valid.
    /// - `Stripe-Should-Retry` is `true` where the same request may succeed later, and `false` on replays and where it
    ///   never will. Without it those clients retry every 409.
    ///
    /// Stripe itself requires no key: `required = false`.
    #[must_use]
    pub fn stripe() -> Self {
        Self(Shape::Stripe)
    }

    /// The application's own body for each error.
    ///
    /// The status stays the library's, and so do `Retry-After`, which most errors lack, `Cache-Control` and `Link`;
    /// `Content-Language: en`, the language of the texts, unless `render` sets another. `Content-Type`, the body and other
    /// headers are `render`'s, but for one that would mark a replay.
    ///
    /// `render` is called in the request's own future, once for each refused request. A panic in it goes on there.
    ///
    /// # Examples
    /// ```
    /// use axum::Json;
    /// use idem_runtime::ErrorShape;
    /// # #[derive(serde::Serialize)]
    /// # struct ApiError { code: &'static str, message: String }
    ///
    /// let shape = ErrorShape::custom(|refusal| {
    ///     Json(ApiError { code: refusal.code(), message: refusal.detail().to_owned() })
    /// });
    /// ```
    #[cfg(feature = "axum")]
    #[must_use]
    pub fn custom<F, R>(render: F) -> Self
    where
        F: Fn(&Refusal<'_>) -> R + Send + Sync + 'static,
        R: axum::response::IntoResponse,
    {
        Self(Shape::Custom(Arc::new(move |refusal| render(refusal).into_response())))
    }

    /// The status of a mismatch where nobody says.
    pub(crate) fn mismatch(&self) -> StatusCode {
        if self.is_stripe() { StatusCode::BAD_REQUEST } else { StatusCode::UNPROCESSABLE_ENTITY }
    }

    pub(crate) fn is_stripe(&self) -> bool {
        matches!(self.0, Shape::Stripe)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Problem => "Problem",
            Self::Stripe => "Stripe",
            #[cfg(feature = "axum")]
            Self::Custom(_) => "Custom",
        })
    }
}

/// One error of the library, for a renderer of the application's own ([`ErrorShape::custom`]).
///
/// Nothing of the request, the stored answer or the database's messages is in it.
#[cfg(feature = "axum")]
#[derive(Debug)]
pub struct Refusal<'r> {
    pub(super) problem: Problem,
    pub(super) kind: &'r Kind,
    pub(super) base: &'r str,
}

#[cfg(feature = "axum")]
impl Refusal<'_> {
    /// The HTTP status of the answer.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.kind.status
    }

    /// The name of the error, which never changes: `idempotency_key_missing`, for one.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code
    }

    /// The URI that identifies the error: the builder's `problem_base` and the end of the code.
    #[must_use]
    pub fn type_uri(&self) -> String {
        format!("{}{}", self.base, self.kind.slug())
    }

    /// What it is, in English; the same for every request.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.kind.title
    }

    /// What the client can do about it, in English.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.kind.detail
    }

    /// What the client is to do: `same_key` (send the same request again), `fix_request`, `new_key` or `never`.
    #[must_use]
    pub fn retry(&self) -> &'static str {
        self.kind.retry.word()
    }

    /// How long the client is to wait first, whole seconds; `None` where the answer has no `Retry-After`.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let waits = self.kind.retry == Retry::Later;
        waits.then(|| Duration::from_secs(Problem::RETRY_AFTER_SECS.into()))
    }

    /// What is wrong with a key that is not valid: `empty`, `syntax`, `not_ascii`, `control_character`, `multiple`,
    /// `format` or `too_long`.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        match self.problem {
            Problem::KeyInvalid(error) => Some(error.reason()),
            _ => None,
        }
    }
}
