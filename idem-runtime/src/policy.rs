//! What the handlers of an API have in common.

use std::future::Future;
use std::pin::Pin;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::request::Parts;

use crate::admission::Call;
use crate::axum::FromState;
use crate::options::Options;
use crate::store::Store;

pub(crate) mod sealed {
    /// Implemented by the derive alone.
    pub trait Sealed {}
}

/// A policy: options, scope parts and extractors that several handlers share.
///
/// Sealed: `#[derive(idem_runtime::Policy)]` implements it for a struct whose fields are extractors, and
/// `#[idempotent(policy = …)]` names it. [`NoPolicy`] is the policy of every handler whose attribute names none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a policy",
    label = "expected a type with `#[derive(idem_runtime::Policy)]`",
    note = "a policy is a struct whose fields are extractors and whose `#[policy(…)]` says what its handlers share"
)]
pub trait Policy: sealed::Sealed + Send + Sync + 'static {
    /// What holds where the handler's attribute says nothing.
    #[doc(hidden)]
    const OPTIONS: Options;

    /// Where the engine is: [`FromState`] or `FromExtension`.
    #[doc(hidden)]
    type Engine;

    /// Adds the policy's parts to the scope, and what else its fields say of the request to the fingerprint.
    #[doc(hidden)]
    fn describe<DB: Store>(&self, call: &mut Call<DB>);
}

/// How a policy gets its fields: each is an extractor.
#[doc(hidden)]
pub trait FromPolicyParts<S>: Policy + Sized {
    /// Extracts the fields in order; the first rejection is the answer.
    fn from_policy_parts<'a>(
        parts: &'a mut Parts,
        state: &'a S,
    ) -> Pin<Box<dyn Future<Output = Result<Self, Response>> + Send + 'a>>;
}

/// Extracts a field of a policy; its rejection is the answer.
// Boxed as all that an expansion awaits; an `async fn` would report a bound that fails three times over.
#[doc(hidden)]
pub fn extract<'a, T, S>(
    parts: &'a mut Parts,
    state: &'a S,
) -> Pin<Box<dyn Future<Output = Result<T, Response>> + Send + 'a>>
where
    T: PolicyField<S> + 'a,
    S: Send + Sync,
{
    Box::pin(async move { T::from_request_parts(parts, state).await.map_err(IntoResponse::into_response) })
}

/// What the field of a policy can be: an extractor of the request's head.
///
/// A trait of its own so that the compiler says what is asked of the field.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an extractor that a policy can have as a field",
    label = "expected a type with `FromRequestParts<{S}>`",
    note = "an extractor of the body belongs to the handler: a policy is extracted before the handler's arguments and leaves the body to them"
)]
pub trait PolicyField<S>: FromRequestParts<S> {}

#[diagnostic::do_not_recommend]
impl<T: FromRequestParts<S>, S> PolicyField<S> for T {}

/// The policy of a handler that names none: no options, no scope parts of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPolicy;

impl sealed::Sealed for NoPolicy {}

impl Policy for NoPolicy {
    const OPTIONS: Options = Options::NONE;

    type Engine = FromState;

    fn describe<DB: Store>(&self, _: &mut Call<DB>) {}
}

impl<S> FromPolicyParts<S> for NoPolicy {
    fn from_policy_parts<'a>(
        _: &'a mut Parts,
        _: &'a S,
    ) -> Pin<Box<dyn Future<Output = Result<Self, Response>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(Self)))
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use http::request::Request;

    use super::*;

    struct Header(String);

    /// An extractor for one state alone, as an application's own may be.
    impl FromRequestParts<u8> for Header {
        type Rejection = StatusCode;

        async fn from_request_parts(parts: &mut Parts, state: &u8) -> Result<Self, StatusCode> {
            let value = parts.headers.get("x-tenant").and_then(|value| value.to_str().ok());
            value.map(|value| Self(format!("{value}{state}"))).ok_or(StatusCode::UNAUTHORIZED)
        }
    }

    #[test]
    fn a_field_is_extracted_with_the_routers_state_and_its_rejection_is_the_answer() {
        let (mut with, ()) = Request::builder().header("x-tenant", "t").body(()).unwrap().into_parts();
        let (mut without, ()) = Request::new(()).into_parts();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();

        let field = runtime.block_on(extract::<Header, u8>(&mut with, &1));
        let refused = runtime.block_on(extract::<Header, u8>(&mut without, &1));

        assert_eq!(field.map(|header| header.0).unwrap(), "t1");
        assert_eq!(refused.map(|header| header.0).unwrap_err().status(), StatusCode::UNAUTHORIZED);
    }
}
