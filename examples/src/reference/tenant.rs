use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use idem_runtime::ScopeValue;

/// The caller's account, from the header `X-Tenant`; a request without it is refused with 401.
#[derive(Clone, Debug, ScopeValue)]
pub struct TenantId(pub String);

impl<S: Sync> FromRequestParts<S> for TenantId {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let header = parts.headers.get("x-tenant").ok_or(StatusCode::UNAUTHORIZED)?;
        let name = header.to_str().map_err(|_| StatusCode::UNAUTHORIZED)?;
        Ok(Self(name.to_owned()))
    }
}
