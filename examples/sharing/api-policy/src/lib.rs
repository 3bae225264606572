//! What the handlers of all services have in common, in one place: one policy for the public API, one for the
//! internal one.
//!
//! A service names a policy in its handlers, `#[idempotent(policy = api_policy::PublicApi)]`. It can override every
//! option but the scope, so no handler leaves out whose key it is.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use idem_runtime::{Policy, ScopeValue};
use serde_json::json;

/// For customers: a key belongs to a tenant, and is remembered for three days.
#[derive(Debug, Policy)]
#[policy(scope = "tenant,endpoint", ttl = "72h", replay_headers = "x-total")]
pub struct PublicApi {
    /// Whose key it is. A handler that takes `api: &PublicApi` reads it here.
    pub tenant: TenantId,
}

/// For other services: a key is a UUID that the caller made, in the field that callers have always sent.
#[derive(Debug, Policy)]
#[policy(scope = "caller,endpoint", ttl = "24h", header = "X-Request-Id")]
#[policy(key_format = "uuid", mismatch = 409)]
pub struct InternalApi {
    /// The service that calls.
    pub caller: ServiceName,
}

/// A customer's account. A real service takes it from a verified token.
#[derive(Clone, Debug, PartialEq, Eq, ScopeValue)]
pub struct TenantId(String);

/// The name of a service. A real one takes it from the caller's certificate.
#[derive(Clone, Debug, PartialEq, Eq, ScopeValue)]
pub struct ServiceName(String);

impl TenantId {
    /// The account's id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ServiceName {
    /// The service's name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<S: Sync> FromRequestParts<S> for TenantId {
    type Rejection = Unauthenticated;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Unauthenticated> {
        named_by(&parts.headers, "x-tenant").map(Self)
    }
}

impl<S: Sync> FromRequestParts<S> for ServiceName {
    type Rejection = Unauthenticated;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Unauthenticated> {
        named_by(&parts.headers, "x-service").map(Self)
    }
}

/// The text of a header that says who is calling.
fn named_by(headers: &HeaderMap, header: &'static str) -> Result<String, Unauthenticated> {
    let name = headers.get(header).and_then(|name| name.to_str().ok()).filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or(Unauthenticated { header })
}

/// A request that does not say who is calling: 401. What a policy's field rejects is the answer, before any key is
/// looked at.
#[derive(Debug)]
pub struct Unauthenticated {
    header: &'static str,
}

impl IntoResponse for Unauthenticated {
    fn into_response(self) -> Response {
        (StatusCode::UNAUTHORIZED, Json(json!({ "error": "unauthenticated", "header": self.header })))
            .into_response()
    }
}
