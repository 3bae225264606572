//! Which arguments are compared, and how a later build may change them.

use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{NewOrder, TenantId};
use idem_runtime::idempotent;
use serde::{Deserialize, Serialize};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};

#[derive(Deserialize, Serialize)]
struct Pair {
    a: u8,
    b: u8,
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn before<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Path(_account): Path<u64>,
    Query(_pair): Query<Pair>,
    Json(_order): Json<NewOrder>,
) -> StatusCode {
    StatusCode::CREATED
}

/// The same handler in a later build: its arguments in another order and under other names.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn after<DB: TestDatabase>(
    Query(_options): Query<Pair>,
    tenant: TenantId,
    Path(_id): Path<u64>,
    _transaction: &mut Transaction<'_, DB>,
    Json(_body): Json<NewOrder>,
) -> StatusCode {
    StatusCode::CREATED
}

// Cases: B-19
pub async fn arguments_can_be_reordered_and_renamed<DB: TestDatabase>(bench: &Bench<DB>) {
    let route = "/accounts/{id}/orders";
    let old = bench.server().routes(Router::new().route(route, post(before::<DB>))).start().await;
    let new = bench.server().routes(Router::new().route(route, post(after::<DB>))).start().await;
    let request = r1().path("/accounts/7/orders?a=1&b=2");

    let first = old.send(&request).await;
    let again = new.send(&request).await;
    let other = new.send(&r1().path("/accounts/7/orders?a=2&b=1")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&other, "idempotency_key_reused");
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn skipping<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    #[fingerprint(skip)] Query(_pair): Query<Pair>,
    Json(_order): Json<NewOrder>,
) -> StatusCode {
    StatusCode::CREATED
}

// Cases: B-21
// Reports: B59
pub async fn a_skipped_argument_is_not_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/orders", post(skipping::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1().path("/orders?a=1&b=2")).await;
    let again = server.send(&r1().path("/orders?a=3&b=4")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
}

// Cases: B-22
pub async fn every_byte_of_a_large_body_is_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let body = vec![0xa5; 1 << 20];
    let mut other = body.clone();
    other[1 << 19] = 0xa4;
    let request = r1().path("/bytes").set("Content-Type", "application/octet-stream").body(body);

    let first = server.send(&request).await;

    assert_ran(&first, 200);
    assert_replays(&first, &server.send(&request).await);
    assert_problem(&server.send(&request.body(other)).await, "idempotency_key_reused");
}
