//! A payment provider of somebody else's, as far as a caller can tell: a server on a port of its own.
//!
//! It knows idempotency keys as Stripe does. It keeps its state for as long as it lives, whatever becomes of those who
//! call it, and says afterwards what it was asked for and what it did.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::reference::Gate;

/// The card that the provider declines.
pub const DECLINED_CARD: &str = "card_declined";

/// What the provider is asked for: `{"cents":500,"card":"card_visa"}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Payment {
    /// How much, in the smallest unit of the currency.
    pub cents: i64,
    /// Whose card.
    pub card: String,
}

impl Payment {
    /// The payment as it is sent. Nothing in it differs from one run of a handler to the next, as a row's number or a
    /// time would: to the provider, the same key with another content is a mistake.
    #[must_use]
    pub fn content(&self) -> String {
        json!({ "cents": self.cents, "card": self.card }).to_string()
    }
}

/// Money that has moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Charge {
    /// The provider's own number: `ch_1`, `ch_2` and so on.
    pub id: String,
    /// How much, in the smallest unit of the currency.
    pub cents: i64,
}

/// How the provider treats one call.
#[derive(Clone, Debug)]
pub enum Treatment {
    /// It decides at once and answers so much later.
    AnswersAfter(Duration),
    /// It decides at once and answers when the gate is open.
    AnswersAtGate(Gate),
    /// It decides nothing and answers 500.
    Fails,
}

/// The provider. Clones are one.
#[derive(Clone, Debug, Default)]
pub struct Provider {
    ledger: Arc<Mutex<Ledger>>,
    calls: Arc<watch::Sender<usize>>,
}

#[derive(Debug, Default)]
struct Ledger {
    charges: Vec<Charge>,
    /// The key of every call that brought one, in the order in which they came.
    keys: Vec<String>,
    /// What was asked for under each key, and what came of it. A real provider forgets a key, Stripe after 24 hours.
    decided: HashMap<String, (Bytes, Decision)>,
    /// How the next calls are treated; those after them are answered at once.
    treatments: VecDeque<Treatment>,
}

#[derive(Clone, Debug)]
enum Decision {
    Charged(Charge),
    Declined,
}

impl Provider {
    /// `POST /charges`.
    pub fn routes(&self) -> Router {
        Router::new().route("/charges", post(charge)).with_state(self.clone())
    }

    /// Treats the first call that comes from now on, and is not spoken for yet, in this way.
    pub fn next(&self, treatment: Treatment) {
        self.ledger().treatments.push_back(treatment);
    }

    /// The charges it has made, oldest first. A call that was answered from memory made none.
    #[must_use]
    pub fn charges(&self) -> Vec<Charge> {
        self.ledger().charges.clone()
    }

    /// The key of every call, oldest first: a call that was repeated is there twice.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.ledger().keys.clone()
    }

    /// Waits until so many calls with a key have come, and have been decided unless they were to fail.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing is changed by waiting.
    pub async fn called(&self, times: usize) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.calls.subscribe().wait_for(|calls| *calls >= times).await;
    }

    /// Nobody panics while it holds the lock.
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// What a call under this key gets: what was decided the first time, if the content is the same.
    fn decide(&mut self, key: &str, content: &Bytes) -> Response {
        if let Some((first, decision)) = self.decided.get(key) {
            if first == content {
                return decision.clone().into_response();
            }
            return refusal(StatusCode::UNPROCESSABLE_ENTITY, "key_reused");
        }
        let Ok(payment) = serde_json::from_slice::<Payment>(content) else {
            return refusal(StatusCode::BAD_REQUEST, "payment_unreadable");
        };
        let decision = if payment.card == DECLINED_CARD {
            Decision::Declined
        } else {
            let charge = Charge { id: format!("ch_{}", self.charges.len() + 1), cents: payment.cents };
            self.charges.push(charge.clone());
            Decision::Charged(charge)
        };
        self.decided.insert(key.to_owned(), (content.clone(), decision.clone()));
        decision.into_response()
    }
}

impl IntoResponse for Decision {
    fn into_response(self) -> Response {
        match self {
            Self::Charged(charge) => (StatusCode::CREATED, Json(charge)).into_response(),
            Self::Declined => refusal(StatusCode::PAYMENT_REQUIRED, "card_declined"),
        }
    }
}

fn refusal(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({ "error": error }))).into_response()
}

async fn charge(State(provider): State<Provider>, headers: HeaderMap, content: Bytes) -> Response {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let Some(key) = key.filter(|key| !key.is_empty()) else {
        return refusal(StatusCode::BAD_REQUEST, "key_missing");
    };
    let (treatment, answer) = {
        let mut ledger = provider.ledger();
        ledger.keys.push(key.to_owned());
        let treatment = ledger.treatments.pop_front();
        let answer = if matches!(treatment, Some(Treatment::Fails)) {
            refusal(StatusCode::INTERNAL_SERVER_ERROR, "provider_failed")
        } else {
            ledger.decide(key, &content)
        };
        (treatment, answer)
    };
    provider.calls.send_modify(|calls| *calls += 1);

    match treatment {
        Some(Treatment::AnswersAfter(time)) => sleep(time).await,
        Some(Treatment::AnswersAtGate(gate)) => gate.pass().await,
        Some(Treatment::Fails) | None => {}
    }
    answer
}
