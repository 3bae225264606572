//! The signatures of Standard Webhooks (<https://www.standardwebhooks.com>), by its own library.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRef, FromRequest, Request};
use axum::http::HeaderMap;
use serde::de::DeserializeOwned;
use standardwebhooks::{HEADER_WEBHOOK_TIMESTAMP, WebhookError};

use super::secrets::Secrets;
use super::unverified::Unverified;

/// An event that its sender has signed: `webhook-signature` over `webhook-id`, `webhook-timestamp` and the body.
#[derive(Debug)]
pub struct Standard<T>(pub T);

impl<T, S> FromRequest<S> for Standard<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
    Secrets: FromRef<S>,
{
    type Rejection = Unverified;

    async fn from_request(request: Request, state: &S) -> Result<Self, Unverified> {
        let headers = request.headers().clone();
        if !has_time(&headers) {
            return Err(Unverified::NotSigned);
        }
        let body = Bytes::from_request(request, state).await?;
        let verified = Secrets::from_ref(state).standard().verify(&body, &headers);
        verified.map_err(|error| match error {
            WebhookError::TimestampTooOldError | WebhookError::FutureTimestampError => {
                Unverified::NotOfThisTime
            }
            WebhookError::InvalidSignature | WebhookError::InvalidPayload => Unverified::WrongSignature,
            _ => Unverified::NotSigned,
        })?;
        let Json(event) = Json::from_bytes(&body)?;
        Ok(Self(event))
    }
}

/// Whether the time is digits, and not too many. The library subtracts what it reads from the clock, before it verifies
/// anything: a time of -2^63 would overflow, and whoever sent it would have a debug build panic.
fn has_time(headers: &HeaderMap) -> bool {
    let time = headers.get(HEADER_WEBHOOK_TIMESTAMP).map_or(&b""[..], |time| time.as_bytes());
    time.len() <= 12 && time.iter().all(u8::is_ascii_digit)
}

impl Secrets {
    /// The field `webhook-signature` of a delivery, `time` in seconds since 1970: what a sender does, for those who try
    /// the service.
    ///
    /// # Panics
    /// If `time` has more than 63 bits.
    #[must_use]
    pub fn sign_as_standard(&self, id: &str, body: &str, time: u64) -> String {
        let time = i64::try_from(time).expect("seconds since 1970");
        self.standard().sign(id, time, body.as_bytes()).expect("a text can be signed")
    }
}
