//! What a handler says of the comparison: a hash function of its own, or none at all.

use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::{Fingerprinter, Policy, idempotent};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};

type Created = Result<(StatusCode, Json<Order>), AppError>;

/// The one header that the handler reads.
fn version(headers: &HeaderMap, into: &mut Fingerprinter) {
    into.bytes("version", headers.get("x-version").map_or(b"", |version| version.as_bytes()));
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn versioned<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    #[fingerprint(with = version)] headers: HeaderMap,
    Json(order): Json<NewOrder>,
) -> Created {
    let status = if headers.contains_key("x-version") { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

// Cases: F-12
pub async fn a_header_that_is_an_input_is_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(Router::new().route("/orders", post(versioned::<DB>))).start().await;
    let request = |version| r1().field("X-Version", version);

    let first = server.send(&request("1")).await;
    let elsewhere = server.send(&request("1").field("Traceparent", "00-1")).await;
    let other = server.send(&request("2")).await;
    let none = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &elsewhere);
    assert_problem(&other, "idempotency_key_reused");
    assert_problem(&none, "idempotency_key_reused");
    bench.assert_holds(1, 1).await;
}

/// An API whose keys stand for the operation, whatever the request says.
#[derive(Policy)]
#[policy(scope = "tenant,endpoint", ttl = "24h", fingerprint = "off")]
struct Uncompared {
    tenant: TenantId,
}

#[idempotent(policy = Uncompared)]
async fn uncompared<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    api: &Uncompared,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &api.tenant, &order).await?)))
}

// Cases: F-13
pub async fn another_body_is_the_same_request_where_nothing_is_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(Router::new().route("/orders", post(uncompared::<DB>))).start().await;

    let first = server.send(&r1()).await;
    let other = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;

    assert_ran(&first, 201);
    assert_replays(&first, &other);
    bench.assert_holds(1, 1).await;
}

// Cases: F-13
pub async fn a_comparison_can_be_switched_on_and_off_between_builds<DB: TestDatabase>(bench: &Bench<DB>) {
    let off = bench.server().routes(Router::new().route("/orders", post(uncompared::<DB>))).start().await;
    let on = bench.start().await;
    let later = r1().fresh_key();

    let first = off.send(&r1()).await;
    let second = on.send(&later).await;

    assert_ran(&first, 201);
    assert_replays(&first, &on.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await);
    assert_ran(&second, 201);
    assert_replays(&second, &off.send(&later.clone().body(r#"{"item":"tea","qty":2}"#)).await);
    assert_problem(&on.send(&later.body(r#"{"item":"tea","qty":2}"#)).await, "idempotency_key_reused");
    bench.assert_holds(2, 2).await;
}
