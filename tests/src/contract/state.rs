//! The engine is found wherever the router's state keeps it.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order, routes};
use idem_runtime::{Idempotency, idempotent};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};
use crate::server::Server;

async fn behind_an_arc<DB: TestDatabase>(bench: &Bench<DB>) -> Server<DB> {
    let router = |app| routes::<DB, Arc<App<DB>>>().with_state(Arc::new(app));
    bench.server().router(router).start().await
}

// Cases: R-01, F-01
pub async fn behind_an_arc_a_retry_replays_and_another_body_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = behind_an_arc(bench).await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;
    let other = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&other, "idempotency_key_reused");
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Cases: C-01
pub async fn behind_an_arc_a_duplicate_is_told_of_the_first<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = behind_an_arc(bench).await;
    let slow = r1().path("/slow");

    let first = server.open_up_to_the_gate(&slow).await;
    let duplicate = server.send(&slow).await;
    server.gate().open();

    assert_problem(&duplicate, "idempotency_in_progress");
    assert_ran(&first.answer().await, 201);
    bench.assert_holds(1, 1).await;
}

// Cases: R-10, T-03, Q-01
pub async fn behind_an_arc_failures_are_what_they_are<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = behind_an_arc(bench).await;

    let refused = server.send(&r1().path("/err")).await;
    assert_ran(&refused, 422);
    assert_replays(&refused, &server.send(&r1().path("/err")).await);
    assert_eq!(server.open(&r1().path("/panic")).await.outcome().await, None);
    assert_ran(&server.send(&r1().method("GET").path("/things").body("")).await, 200);

    bench.assert_holds(1, 0).await;
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn without_state<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

// Cases: R-01
pub async fn the_engine_may_be_the_whole_state<DB: TestDatabase>(bench: &Bench<DB>) {
    let router = |app: App<DB>| {
        Router::<Idempotency<DB>>::new()
            .route("/orders", post(without_state::<DB>))
            .with_state(app.idempotency)
    };
    let server = bench.server().router(router).start().await;

    let first = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}
