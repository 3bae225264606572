use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use idem_runtime::ScopeValue;

use super::error::StripeError;

/// The account that an API key stands for: `Authorization: Bearer sk_test_…`; and the connected account for which it
/// acts, where `Stripe-Account` names one.
///
/// Every key that begins so is an account's own. These are no secrets: an API whose keys are looks the account up and
/// keeps its id, since a scope is stored as it is.
#[derive(Clone, Debug, ScopeValue)]
pub(super) struct Account(pub(super) String);

impl<S: Sync> FromRequestParts<S> for Account {
    type Rejection = StripeError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StripeError> {
        let header = parts.headers.get(AUTHORIZATION).ok_or(StripeError::NoApiKey)?;
        let (scheme, key) =
            header.to_str().ok().and_then(|value| value.split_once(' ')).ok_or(StripeError::NoApiKey)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(StripeError::NoApiKey);
        }
        if !key.starts_with("sk_test_") {
            return Err(StripeError::UnknownApiKey);
        }
        match parts.headers.get("stripe-account").map(HeaderValue::to_str) {
            None => Ok(Self(key.to_owned())),
            Some(Ok(connected)) if connected.starts_with("acct_") => {
                Ok(Self(format!("{key} for {connected}")))
            }
            Some(_) => Err(StripeError::UnknownApiKey),
        }
    }
}
