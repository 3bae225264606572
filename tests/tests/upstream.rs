//! A handler that calls another service, which fails or is slow, and its retry.

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Extension;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::{Execution, Inert, idempotent};
use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::r1;
use idem_tests::on_both_databases;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::Transaction;

/// A payment provider that knows idempotency keys.
#[derive(Clone, Default, Inert)]
struct Provider {
    /// The key of every charge that it was asked for.
    #[inert(trusted)]
    asked: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    /// Charges, and returns how often it has been asked so far.
    fn charge(&self, key: String) -> usize {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(key);
        asked.len()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn routes<DB: TestDatabase>(provider: &Provider) -> Router<App<DB>> {
    Router::new()
        .route("/hangs", post(hangs_once::<DB>))
        .route("/fails", post(fails_once::<DB>))
        .layer(Extension(provider.clone()))
}

/// Charges, and does not come back from it the first time.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn hangs_once<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    execution: &Execution,
    tenant: TenantId,
    Extension(provider): Extension<Provider>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    let key = execution.downstream_key("charge").unwrap_or_default();
    if provider.charge(key) == 1 {
        pending::<()>().await;
    }
    Ok((StatusCode::CREATED, Json(order)))
}

// Reports: B11
async fn a_call_whose_end_was_not_seen_is_repeated_with_the_same_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let provider = Provider::default();
    let limit = Duration::from_secs(1);
    let server = bench
        .server()
        .routes(routes(&provider))
        .engine(move |builder| builder.run_limit(limit))
        .start()
        .await;
    let request = r1().path("/hangs");

    let hung = server.send(&request).await;
    bench.assert_holds(0, 0).await;
    let first = server.send(&request).await;
    let again = server.send(&request).await;
    let other_key = server.send(&request.fresh_key()).await;

    assert_problem(&hung, "idempotency_transient");
    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_ran(&other_key, 201);
    let asked = provider.asked();
    assert_eq!(asked.len(), 3, "once a run, and not for the replay");
    assert_eq!(asked[0], asked[1], "to the provider it is one charge");
    assert_ne!(asked[1], asked[2]);
    bench.assert_holds(2, 2).await;
}

/// Charges; the provider answers 500 the first time, and the handler makes a 503 of it.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn fails_once<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    execution: &Execution,
    tenant: TenantId,
    Extension(provider): Extension<Provider>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, String), AppError> {
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    let key = execution.downstream_key("charge").unwrap_or_default();
    if provider.charge(key) == 1 {
        return Ok((StatusCode::SERVICE_UNAVAILABLE, "the provider failed".to_owned()));
    }
    Ok((StatusCode::CREATED, format!("order {} is paid", order.id)))
}

// Reports: B12
async fn what_another_services_failure_is_answered_with_is_not_the_keys_last_word<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let provider = Provider::default();
    let server = bench.server().routes(routes(&provider)).start().await;
    let request = r1().path("/fails");

    let failed = server.send(&request).await;
    bench.assert_holds(0, 0).await;
    let first = server.send(&request).await;

    assert_ran(&failed, 503);
    assert_eq!(failed.text(), "the provider failed");
    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&request).await);
    assert_eq!(provider.asked().len(), 2);
    bench.assert_holds(1, 1).await;
}

on_both_databases! {
    a_call_whose_end_was_not_seen_is_repeated_with_the_same_key
    what_another_services_failure_is_answered_with_is_not_the_keys_last_word
}
