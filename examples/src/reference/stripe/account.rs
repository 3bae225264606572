use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use idem_runtime::ScopeValue;

use super::error::StripeError;

/// The account that an API key stands for: `Authorization: Bearer sk_test_…`.
///
/// Every key that begins so is an account's own.
#[derive(Clone, Debug, ScopeValue)]
pub(super) struct Account(pub(super) String);

impl<S: Sync> FromRequestParts<S> for Account {
    type Rejection = StripeError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StripeError> {
        let header = parts.headers.get(AUTHORIZATION).ok_or(StripeError::NoApiKey)?;
        let key = header.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
        let key = key.ok_or(StripeError::NoApiKey)?;
        if key.starts_with("sk_test_") { Ok(Self(key.to_owned())) } else { Err(StripeError::UnknownApiKey) }
    }
}
