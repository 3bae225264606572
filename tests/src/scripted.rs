//! A handler that answers what the test tells it to, after it has inserted an order.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use idem_examples::reference::{App, Gate, NewOrder, TenantId, insert_order};
use idem_runtime::{Inert, idempotent};
use sqlx::Transaction;

use crate::database::TestDatabase;

/// What a run ends with.
pub type Outcome = Result<Response, Response>;

/// What the handler answers, run by run.
#[derive(Clone, Inert)]
pub struct Script {
    #[inert(trusted)]
    outcome: Arc<dyn Fn(usize) -> Outcome + Send + Sync>,
    #[inert(trusted)]
    runs: Arc<AtomicUsize>,
    gate: Option<Gate>,
}

impl Script {
    /// `outcome` is asked once a run, with the number of the run, the first being 1.
    pub fn new(outcome: impl Fn(usize) -> Outcome + Send + Sync + 'static) -> Self {
        Self { outcome: Arc::new(outcome), runs: Arc::default(), gate: None }
    }

    /// The same `Ok` in every run.
    pub fn ok<R: IntoResponse>(response: impl Fn() -> R + Send + Sync + 'static) -> Self {
        Self::new(move |_| Ok(response().into_response()))
    }

    /// The same `Err` in every run.
    pub fn err<R: IntoResponse>(response: impl Fn() -> R + Send + Sync + 'static) -> Self {
        Self::new(move |_| Err(response().into_response()))
    }

    /// The same, after every run has passed `gate`.
    #[must_use]
    pub fn at_gate(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// How often the handler has run.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    async fn next(&self) -> Outcome {
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(gate) = &self.gate {
            gate.pass().await;
        }
        (self.outcome)(run)
    }

    /// The handler at `POST /orders` (`record = "decided"`), `POST /all` and `POST /success`.
    pub fn routes<DB: TestDatabase>(&self) -> Router<App<DB>> {
        Router::new()
            .route("/orders", post(decided::<DB>))
            .route("/all", post(all::<DB>))
            .route("/success", post(success::<DB>))
            .layer(Extension(self.clone()))
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("runs", &self.runs).finish_non_exhaustive()
    }
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn decided<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Extension(script): Extension<Script>,
    Json(order): Json<NewOrder>,
) -> Outcome {
    insert_order::<DB>(&mut *tx, &tenant, &order).await.map_err(IntoResponse::into_response)?;
    script.next().await
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h", record = "all")]
async fn all<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Extension(script): Extension<Script>,
    Json(order): Json<NewOrder>,
) -> Outcome {
    insert_order::<DB>(&mut *tx, &tenant, &order).await.map_err(IntoResponse::into_response)?;
    script.next().await
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h", record = "success")]
async fn success<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Extension(script): Extension<Script>,
    Json(order): Json<NewOrder>,
) -> Outcome {
    insert_order::<DB>(&mut *tx, &tenant, &order).await.map_err(IntoResponse::into_response)?;
    script.next().await
}
