//! What the handlers of an API have in common.

use std::future::Future;
use std::pin::Pin;

use axum::response::Response;
use http::request::Parts;

use crate::options::Options;
use crate::scope::Scope;

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A policy: options and scope parts that several handlers share.
///
/// Sealed. [`NoPolicy`] is the policy of every handler whose attribute names none.
pub trait Policy: sealed::Sealed + Send + Sync + 'static {
    /// What holds where the handler's attribute says nothing.
    #[doc(hidden)]
    const OPTIONS: Options;

    /// Adds the policy's parts to the scope.
    #[doc(hidden)]
    fn scope(&self, scope: Scope) -> Scope;
}

/// How a policy gets its fields: each is an extractor.
#[doc(hidden)]
pub trait FromPolicyParts<S>: Policy + Sized {
    /// Extracts the fields; the first rejection is the answer.
    fn from_policy_parts<'a>(
        parts: &'a mut Parts,
        state: &'a S,
    ) -> Pin<Box<dyn Future<Output = Result<Self, Response>> + Send + 'a>>;
}

/// The policy of a handler that names none: no options, no scope parts of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPolicy;

impl sealed::Sealed for NoPolicy {}

impl Policy for NoPolicy {
    const OPTIONS: Options = Options::NONE;

    fn scope(&self, scope: Scope) -> Scope {
        scope
    }
}

impl<S> FromPolicyParts<S> for NoPolicy {
    fn from_policy_parts<'a>(
        _: &'a mut Parts,
        _: &'a S,
    ) -> Pin<Box<dyn Future<Output = Result<Self, Response>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(Self)))
    }
}
