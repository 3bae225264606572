//! What the handlers of an API have in common.

use std::future::Future;
use std::pin::Pin;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
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
#[doc(hidden)]
pub async fn extract<T: FromRequestParts<S>, S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<T, Response> {
    T::from_request_parts(parts, state).await.map_err(|rejection| rejection.into_response())
}

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
