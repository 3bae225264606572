//! Stripe's signatures (<https://docs.stripe.com/webhooks#verify-manually>).
//!
//! The field `Stripe-Signature` is `t=1700000000,v1=5257a8…`: the time of the delivery in seconds, and in hexadecimal
//! digits the HMAC-SHA256 of `1700000000.` and the body. While a secret is being replaced there are several `v1`.

use std::fmt::Write as _;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRef, FromRequest, Request};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::de::DeserializeOwned;
use sha2::Sha256;

use super::secrets::{Secrets, unix_time};
use super::unverified::Unverified;

const FIELD: &str = "stripe-signature";

/// How far the time of a delivery may be from this machine's, in seconds; as in Stripe's own libraries.
const TOLERANCE: u64 = 5 * 60;

/// An event that Stripe has signed.
///
/// The signature is over the body as it was sent, so the extractor reads it, and nothing before it may.
#[derive(Debug)]
pub struct Stripe<T>(pub T);

impl<T, S> FromRequest<S> for Stripe<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
    Secrets: FromRef<S>,
{
    type Rejection = Unverified;

    async fn from_request(request: Request, state: &S) -> Result<Self, Unverified> {
        let field = request.headers().get(FIELD).and_then(|field| field.to_str().ok()).map(str::to_owned);
        let field = field.ok_or(Unverified::NotSigned)?;
        let body = Bytes::from_request(request, state).await?;
        verify(Secrets::from_ref(state).stripe(), &field, &body, unix_time())?;
        let Json(event) = Json::from_bytes(&body)?;
        Ok(Self(event))
    }
}

/// Whether one of the signatures in `field` is made with `secret`, at about the time `now`.
fn verify(secret: &str, field: &str, body: &[u8], now: u64) -> Result<(), Unverified> {
    let members = || field.split(',').filter_map(|member| member.trim().split_once('='));
    let time = members().find(|(name, _)| *name == "t").map(|(_, time)| time).ok_or(Unverified::NotSigned)?;
    let seconds: u64 = time.parse().map_err(|_| Unverified::NotSigned)?;
    if now.abs_diff(seconds) > TOLERANCE {
        return Err(Unverified::NotOfThisTime);
    }
    let expected = mac(secret, time, body);
    let mut signatures = members().filter(|(name, _)| *name == "v1").filter_map(|(_, digits)| bytes(digits));
    // In constant time: how many bytes are right must not show.
    if signatures.any(|signature| expected.clone().verify_slice(&signature).is_ok()) {
        Ok(())
    } else {
        Err(Unverified::WrongSignature)
    }
}

fn mac(secret: &str, time: &str, body: &[u8]) -> Hmac<Sha256> {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key may have any length");
    mac.chain_update(time).chain_update(".").chain_update(body)
}

/// The bytes that hexadecimal digits stand for; `None` if they do not.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect();
    if rest.is_empty() { bytes } else { None }
}

impl Secrets {
    /// The field `Stripe-Signature` of a delivery, `time` in seconds since 1970: what Stripe does, for those who try
    /// the service.
    #[must_use]
    pub fn sign_as_stripe(&self, body: &str, time: u64) -> String {
        let signature = mac(self.stripe(), &time.to_string(), body.as_bytes()).finalize().into_bytes();
        signature.iter().fold(format!("t={time},v1="), |mut field, byte| {
            // A text takes whatever is written.
            let _ = write!(field, "{byte:02x}");
            field
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_test";
    const BODY: &[u8] = br#"{"id":"evt_1"}"#;
    const TIME: u64 = 1_700_000_000;

    /// Made by another implementation: Python's `hmac.new(SECRET, b"1700000000." + BODY, "sha256").hexdigest()`.
    const SIGNATURE: &str = "c89214b5b5da833daed6f0b8c5bb6bd58cea9022bd80ccc78230f3942d632925";

    #[track_caller]
    fn assert_verifies(field: &str, now: u64) {
        assert!(verify(SECRET, field, BODY, now).is_ok(), "{field}");
    }

    #[test]
    fn a_signature_of_another_implementation_is_verified() {
        assert_verifies(&format!("t=1700000000,v1={SIGNATURE}"), TIME);
        assert_verifies(&format!("t=1700000000, v0=00, v1={}", SIGNATURE.to_uppercase()), TIME);
        let secrets = Secrets::new(SECRET, "c2VjcmV0").unwrap();
        let field = secrets.sign_as_stripe(str::from_utf8(BODY).unwrap(), TIME);
        assert_eq!(field, format!("t=1700000000,v1={SIGNATURE}"));
    }

    #[test]
    fn one_of_several_signatures_is_enough() {
        let wrong = "0".repeat(64);
        assert_verifies(&format!("t=1700000000,v1={wrong},v1={SIGNATURE},v1={wrong}"), TIME);
    }

    #[test]
    fn a_signature_holds_for_five_minutes() {
        let field = format!("t=1700000000,v1={SIGNATURE}");

        for now in [TIME - 300, TIME + 300] {
            assert_verifies(&field, now);
        }
        for now in [TIME - 301, TIME + 301, 0, u64::MAX] {
            let refused = verify(SECRET, &field, BODY, now);
            assert!(matches!(refused, Err(Unverified::NotOfThisTime)), "{now}: {refused:?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let cut = &SIGNATURE[..62];
        for field in [
            format!("t=1700000001,v1={SIGNATURE}"),
            format!("t=1700000000,v1={cut}"),
            format!("t=1700000000,v1={SIGNATURE}0"),
            format!("t=1700000000,v1=+{}", &SIGNATURE[1..]),
            format!("t=1700000000,v0={SIGNATURE}"),
            "t=1700000000,v1=".to_owned(),
            "t=1700000000".to_owned(),
        ] {
            let refused = verify(SECRET, &field, BODY, TIME);
            assert!(matches!(refused, Err(Unverified::WrongSignature)), "{field}: {refused:?}");
        }
        for field in ["", "t=", "t=soon,v1=00", "t=-1,v1=00", "v1=00", ",=,"] {
            let refused = verify(SECRET, field, BODY, TIME);
            assert!(matches!(refused, Err(Unverified::NotSigned)), "{field}: {refused:?}");
        }
        let field = format!("t=1700000000,v1={SIGNATURE}");
        assert!(verify("whsec_other", &field, BODY, TIME).is_err());
        assert!(verify(SECRET, &field, br#"{"id":"evt_2"}"#, TIME).is_err());
    }
}
