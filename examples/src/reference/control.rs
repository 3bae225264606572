//! What a test needs to steer the application from outside.

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value as JsonValue, json};

use super::probe::Probe;

/// The query of `GET /gate`.
#[derive(Debug, Deserialize)]
pub(super) struct Arrivals {
    /// How many handlers to wait for.
    waiting: usize,
}

/// `POST /gate`: opens the gate of `POST /slow`, for good.
pub(super) async fn open_gate(State(probe): State<Probe>) -> StatusCode {
    probe.gate.open();
    StatusCode::NO_CONTENT
}

/// `GET /gate?waiting=1`: answers when so many handlers wait at the gate.
pub(super) async fn await_arrivals(
    State(probe): State<Probe>,
    Query(arrivals): Query<Arrivals>,
) -> StatusCode {
    probe.gate.arrivals(arrivals.waiting).await;
    StatusCode::NO_CONTENT
}

/// `GET /runs`: how many handlers have begun to run.
pub(super) async fn runs(State(probe): State<Probe>) -> Json<JsonValue> {
    Json(json!({ "runs": probe.runs() }))
}
