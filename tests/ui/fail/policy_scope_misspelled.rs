use axum::extract::FromRequestParts;
use axum::http::{StatusCode, request::Parts};
use idem_runtime::{Policy, ScopeValue};

#[derive(ScopeValue)]
struct TenantId(String);

impl<S: Sync> FromRequestParts<S> for TenantId {
    type Rejection = StatusCode;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        Err(StatusCode::UNAUTHORIZED)
    }
}

#[derive(Policy)]
#[policy(scope = "tennant,endpoint")]
struct PublicApi {
    tenant: TenantId,
}

fn main() {}
