//! What a handler's own options change.

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::{Request, r1};
use crate::problem::{assert_key_invalid, assert_problem, assert_refusal};
use crate::same::{assert_ran, assert_replays};

type Created = (StatusCode, Json<Order>);

async fn insert<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: &TenantId,
    order: &NewOrder,
) -> Result<Created, AppError> {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, tenant, order).await?)))
}

#[idempotent(scope = "tenant,endpoint", key = "order.order_no")]
async fn create_by_number<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<Created, AppError> {
    insert(tx, &tenant, &order).await
}

// Cases: H-35
pub async fn the_key_may_be_a_part_of_the_request<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/orders", post(create_by_number::<DB>));
    let server = bench.server().routes(routes).start().await;
    let numbered = |number: &str| {
        r1().without("Idempotency-Key").body(format!(r#"{{"item":"tea","qty":1,"order_no":"{number}"}}"#))
    };

    let first = server.send(&numbered("no-1")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&numbered("no-1")).await);
    // The header has nothing to say.
    assert_replays(&first, &server.send(&numbered("no-1").key("another")).await);
    assert_ran(&server.send(&numbered("no-2")).await, 201);
    bench.assert_holds(2, 2).await;

    let missing = server.send(&r1()).await;
    assert_refusal(&missing, 400, "idempotency_key_missing");
    assert!(!String::from_utf8_lossy(&missing.body).contains("header"), "no header was asked for");
    assert_refusal(&server.send(&numbered("")).await, 400, "idempotency_key_invalid");
    assert_refusal(&server.send(&numbered("größe")).await, 400, "idempotency_key_invalid");
    assert_refusal(&server.send(&numbered(&"n".repeat(256))).await, 400, "idempotency_key_invalid");
    bench.assert_holds(2, 2).await;
}

#[idempotent(scope = "tenant,endpoint", required = false)]
async fn create_if_keyed<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<Created, AppError> {
    insert(tx, &tenant, &order).await
}

// Cases: H-31, H-32, H-36
pub async fn a_key_that_is_not_required_may_be_missing_but_not_malformed<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let routes = Router::new().route("/orders", post(create_if_keyed::<DB>));
    let server = bench.server().routes(routes).start().await;
    let without = r1().without("Idempotency-Key");

    let (first, second) = (server.send(&without).await, server.send(&without).await);

    assert_ran(&first, 201);
    assert_ran(&second, 201);
    bench.assert_holds(0, 2).await;
    assert_key_invalid(&server.send(&r1().key("\"a")).await, "syntax");
    bench.assert_holds(0, 2).await;
    assert_eq!(server.send(&without.without("X-Tenant")).await.status, 401);

    let keyed = server.send(&r1()).await;
    assert_ran(&keyed, 201);
    assert_replays(&keyed, &server.send(&r1()).await);
    bench.assert_holds(1, 3).await;
}

#[idempotent(scope = "tenant,endpoint")]
async fn upload<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    #[fingerprint(body)] body: axum::extract::Request,
) -> Result<(StatusCode, Bytes), StatusCode> {
    let body = axum::body::to_bytes(body.into_body(), 1 << 20).await;
    Ok((StatusCode::CREATED, body.map_err(|_| StatusCode::BAD_REQUEST)?))
}

// Cases: B-26
pub async fn a_stream_may_be_compared_as_received<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/uploads", post(upload::<DB>));
    let server = bench.server().routes(routes).start().await;
    let upload = |body: &[u8]| -> Request {
        r1().path("/uploads").set("Content-Type", "application/octet-stream").body(body)
    };

    let first = server.send(&upload(b"{\"a\": 1}")).await;

    assert_ran(&first, 201);
    assert_eq!(first.body, b"{\"a\": 1}");
    assert_replays(&first, &server.send(&upload(b"{\"a\": 1}")).await);
    assert_problem(&server.send(&upload(b"{\"a\":1}")).await, "idempotency_key_reused");
}

struct Handlers;

impl Handlers {
    #[idempotent(scope = "tenant,endpoint", inner = "Self::create_inner")]
    async fn create<DB: TestDatabase>(
        tx: &mut Transaction<'_, DB>,
        tenant: TenantId,
        Json(order): Json<NewOrder>,
    ) -> Result<Created, AppError> {
        insert(tx, &tenant, &order).await
    }
}

#[idempotent(scope = "tenant,endpoint")]
async fn create_twice<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<Created, AppError> {
    let (_, _first) = Handlers::create_inner(&mut *tx, tenant.clone(), Json(order.clone())).await?;
    Handlers::create_inner(tx, tenant, Json(order)).await
}

// Reports: B16
pub async fn a_handler_can_be_called_by_another_in_its_transaction<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new()
        .route("/orders", post(Handlers::create::<DB>))
        .route("/pairs", post(create_twice::<DB>));
    let server = bench.server().routes(routes).start().await;

    let pair = server.send(&r1().path("/pairs")).await;

    assert_ran(&pair, 201);
    assert_replays(&pair, &server.send(&r1().path("/pairs")).await);
    bench.assert_holds(1, 2).await;
    assert_ran(&server.send(&r1()).await, 201);
    bench.assert_holds(2, 3).await;
}
