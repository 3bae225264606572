//! The calls that the service makes to others.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use idem_runtime::Inert;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value as JsonValue;

use super::mail::Receipt;

/// What the provider has decided. It decides the same for as long as it remembers the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The money has moved; the provider's number of the charge.
    Charged(String),
    /// It does not, for this reason.
    Declined(String),
}

/// A call that brought no decision.
#[derive(Debug)]
pub(super) enum CallError {
    /// No answer, none in time, or one that says nothing about the payment: whether money has moved is not known, and
    /// another call with the same key and content tells.
    Failed(String),
    /// The key was used before for another payment.
    KeyReused,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(reason) => write!(f, "the provider has not decided: {reason}"),
            Self::KeyReused => f.write_str("the provider knows the key from another payment"),
        }
    }
}

/// The way to the provider and to the mail service.
///
/// Inert, as an annotated handler asks of what it reaches beside its transaction: neither leads back to the database.
#[derive(Clone, Debug, Inert)]
pub(super) struct Calls {
    #[inert(trusted)]
    http: reqwest::Client,
    provider: String,
    mail: String,
}

#[derive(Deserialize)]
struct Charged {
    id: String,
}

impl Calls {
    /// Calls to these two base URLs that take no longer than `limit` each, connecting included. An annotated handler's
    /// limit is well below its `run_limit` (60 s), so that it is the handler who says what a late answer means.
    ///
    /// # Errors
    /// If the HTTP client cannot be made.
    pub(super) fn new(provider: String, mail: String, limit: Duration) -> reqwest::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(limit).build()?;
        Ok(Self { http, provider, mail })
    }

    /// Asks the provider to charge a card: once for each `key`, however often it is asked. `payment` is the
    /// [content](super::provider::Payment::content) of the call, the same to the byte each time.
    ///
    /// # Errors
    /// [`CallError::Failed`] if it is not known what the provider has decided, [`CallError::KeyReused`] if it knows the
    /// key from another payment.
    ///
    /// # Cancel safety
    /// Dropped, it leaves open what the provider has decided, as [`CallError::Failed`] does.
    pub(super) async fn charge(&self, key: &str, payment: String) -> Result<Verdict, CallError> {
        let call = self.http.post(format!("{}/charges", self.provider)).header("idempotency-key", key);
        let call = call.header("content-type", "application/json").body(payment);
        let answer = call.send().await.map_err(failed)?;
        match answer.status() {
            StatusCode::OK | StatusCode::CREATED => {
                Ok(Verdict::Charged(answer.json::<Charged>().await.map_err(failed)?.id))
            }
            StatusCode::PAYMENT_REQUIRED => {
                let body = answer.json::<JsonValue>().await.map_err(failed)?;
                Ok(Verdict::Declined(body["error"].as_str().unwrap_or("declined").to_owned()))
            }
            StatusCode::UNPROCESSABLE_ENTITY => Err(CallError::KeyReused),
            // 409 (it is at it), 429 and 5xx pass; any other 4xx is a mistake of this program, and no refusal of the card.
            status => Err(CallError::Failed(format!("it answers {status}"))),
        }
    }

    /// Has a receipt sent. One that fails is said to have failed, and is not sent again.
    ///
    /// # Cancel safety
    /// Dropped, it leaves open whether the receipt is sent.
    pub(super) async fn send_receipt(&self, receipt: Receipt) {
        let call = self.http.post(format!("{}/receipts", self.mail)).json(&receipt);
        if let Err(error) = call.send().await.and_then(reqwest::Response::error_for_status) {
            eprintln!("no receipt for order {}: {error}", receipt.order);
        }
    }
}

/// Says all of it: what reqwest says first is only that a request failed.
fn failed(error: reqwest::Error) -> CallError {
    let error = error.without_url();
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    CallError::Failed(reason)
}
