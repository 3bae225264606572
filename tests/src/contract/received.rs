//! A handler that is compared by the body as it was received.

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Form, Json, Router};
use idem_examples::reference::{AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use serde::Deserialize;
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::problem::{assert_problem, assert_refusal};
use crate::same::{assert_ran, assert_replays};

type Created = Result<(StatusCode, Json<Order>), AppError>;

/// An order that cannot be written down again.
#[derive(Deserialize)]
struct Received {
    item: String,
    qty: i64,
}

impl From<Received> for NewOrder {
    fn from(Received { item, qty }: Received) -> Self {
        Self { item, qty, order_no: None }
    }
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn form<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    #[fingerprint(body)] Form(order): Form<Received>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order.into()).await?)))
}

#[idempotent(scope = "tenant,endpoint", key = "order.item", ttl = "24h")]
async fn keyed<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    #[fingerprint(body)] Json(order): Json<Received>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order.into()).await?)))
}

// Cases: B-26
pub async fn a_received_form_is_compared_as_bytes<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(Router::new().route("/orders", post(form::<DB>))).start().await;
    let request = r1().set("Content-Type", "application/x-www-form-urlencoded");

    let first = server.send(&request.clone().body("item=tea&qty=1")).await;
    let again = server.send(&request.clone().body("item=tea&qty=1")).await;
    let reordered = server.send(&request.body("qty=1&item=tea")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&reordered, "idempotency_key_reused");
    bench.assert_holds(1, 1).await;
}

// Cases: B-26
pub async fn a_received_body_may_hold_the_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(Router::new().route("/orders", post(keyed::<DB>))).start().await;
    let request = r1().without("Idempotency-Key");

    let first = server.send(&request).await;
    let other = server.send(&request.clone().body(r#"{"item":"tea","qty":2}"#)).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&request).await);
    assert_refusal(&other, 422, "idempotency_key_reused");
    assert_eq!(bench.key_row().await.key, "tea");
    bench.assert_holds(1, 1).await;
}
