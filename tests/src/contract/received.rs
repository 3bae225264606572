//! A handler that is compared by the body as it was received.

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Form, Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use serde::Deserialize;
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::problem::assert_problem;
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
async fn json<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    #[fingerprint(body)] Json(order): Json<Received>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order.into()).await?)))
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn form<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    #[fingerprint(body)] Form(order): Form<Received>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order.into()).await?)))
}

/// The key is a field of the body too.
#[idempotent(scope = "tenant,endpoint", key = "order.item", ttl = "24h")]
async fn keyed<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    #[fingerprint(body)] Json(order): Json<Received>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order.into()).await?)))
}

fn routes<DB: TestDatabase>() -> Router<App<DB>> {
    Router::new()
        .route("/orders", post(json::<DB>))
        .route("/form", post(form::<DB>))
        .route("/keyed", post(keyed::<DB>))
}

// Cases: B-26
pub async fn received_json_is_compared_as_any_json<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;

    let first = server.send(&r1()).await;
    let spelled = server.send(&r1().body(r#"{ "qty": 1.0e0, "item": "\u0074ea" }"#)).await;
    let suffixed = server.send(&r1().set("Content-Type", "application/vnd.shop+json; v=1")).await;
    let unread = server.send(&r1().body(r#"{"item":"tea","qty":1,"note":"x"}"#)).await;

    assert_ran(&first, 201);
    assert_eq!(first.text(), format!(r#"{{"id":{},"item":"tea","qty":1}}"#, first.id()));
    // What `i64` does not read never gets as far as the key.
    assert_ran(&spelled, 422);
    assert_replays(&first, &server.send(&r1().body(r#"{ "qty": 1, "item": "\u0074ea" }"#)).await);
    assert_replays(&first, &suffixed);
    assert_problem(&unread, "idempotency_key_reused");
    bench.assert_holds(1, 1).await;
}

// Cases: B-26
pub async fn a_received_body_of_another_media_type_is_compared_as_bytes<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;
    let request = r1().path("/form").set("Content-Type", "application/x-www-form-urlencoded");

    let first = server.send(&request.clone().body("item=tea&qty=1")).await;
    let again = server.send(&request.clone().body("item=tea&qty=1")).await;
    let reordered = server.send(&request.body("qty=1&item=tea")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&reordered, "idempotency_key_reused");
    bench.assert_holds(1, 1).await;
}

// Cases: T-17, T-18
pub async fn a_received_body_that_is_refused_leaves_the_key_unused<DB: TestDatabase>(bench: &Bench<DB>) {
    let limit = DefaultBodyLimit::max(64);
    let server = bench.server().routes(routes()).wrap(move |router| router.layer(limit)).start().await;
    let long = format!(r#"{{"item":"{}","qty":1}}"#, "x".repeat(64));

    assert_ran(&server.send(&r1().body("{")).await, 400);
    assert_ran(&server.send(&r1().body("{}")).await, 422);
    assert_ran(&server.send(&r1().without("Content-Type")).await, 415);
    assert_ran(&server.send(&r1().body(long)).await, 413);
    bench.assert_holds(0, 0).await;

    assert_ran(&server.send(&r1()).await, 201);
    bench.assert_holds(1, 1).await;
}

// Cases: B-26
pub async fn a_received_body_may_hold_the_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;
    let request = r1().path("/keyed").without("Idempotency-Key");

    let first = server.send(&request).await;
    let other = server.send(&request.clone().body(r#"{"item":"tea","qty":2}"#)).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&request).await);
    assert_eq!(other.json()["code"], "idempotency_key_reused");
    assert_eq!(bench.key_row().await.key, "tea");
    bench.assert_holds(1, 1).await;
}
