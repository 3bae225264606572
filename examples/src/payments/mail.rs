//! A mail service that knows no idempotency keys: what it is told to send, it sends.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// The receipt of an order: `{"order":1}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Receipt {
    /// The order's row.
    pub order: i64,
}

/// The mail service. Clones are one.
#[derive(Clone, Debug, Default)]
pub struct Mail {
    sent: Arc<watch::Sender<Vec<Receipt>>>,
}

impl Mail {
    /// `POST /receipts`.
    pub fn routes(&self) -> Router {
        Router::new().route("/receipts", post(send)).with_state(self.clone())
    }

    /// The receipts that it has sent, oldest first.
    #[must_use]
    pub fn sent(&self) -> Vec<Receipt> {
        self.sent.borrow().clone()
    }

    /// Waits until so many receipts are sent.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing is changed by waiting.
    pub async fn received(&self, count: usize) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.sent.subscribe().wait_for(|sent| sent.len() >= count).await;
    }
}

async fn send(State(mail): State<Mail>, Json(receipt): Json<Receipt>) -> StatusCode {
    mail.sent.send_modify(|sent| sent.push(receipt));
    StatusCode::ACCEPTED
}
