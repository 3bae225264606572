//! An endpoint with a name of its own.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};

type Created = Result<(StatusCode, Json<Order>), AppError>;

#[idempotent(scope = "tenant,endpoint", endpoint = "orders.create", ttl = "24h")]
async fn create<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

#[idempotent(scope = "tenant,endpoint", endpoint = "orders.create", ttl = "24h")]
async fn create_for<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Path(_account): Path<u64>,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

// Cases: S-10
pub async fn a_named_endpoint_may_move_to_another_path<DB: TestDatabase>(bench: &Bench<DB>) {
    let old = bench.server().routes(Router::new().route("/orders", post(create::<DB>))).start().await;
    let moved = Router::new().nest("/v2", Router::new().route("/orders", post(create::<DB>)));
    let new = bench.server().routes(moved).start().await;

    let first = old.send(&r1()).await;
    let again = new.send(&r1().path("/v2/orders")).await;
    let other = new.send(&r1().path("/v2/orders").body(r#"{"item":"tea","qty":2}"#)).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&other, "idempotency_key_reused");
    assert_eq!(bench.key_row().await.scope, "tenant=t1&endpoint=orders.create");
    bench.assert_holds(1, 1).await;
}

// Cases: S-10, F-07
pub async fn the_parameters_of_a_named_endpoint_are_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/accounts/{id}/orders", post(create_for::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1().path("/accounts/1/orders")).await;
    let other = server.send(&r1().path("/accounts/2/orders")).await;

    assert_ran(&first, 201);
    assert_problem(&other, "idempotency_key_reused");
    bench.assert_holds(1, 1).await;
}

#[idempotent(scope = "tenant", endpoint = "charges.create", ttl = "24h")]
async fn charge<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    _body: String,
) -> &'static str {
    "charged"
}

#[idempotent(scope = "tenant", endpoint = "refunds.create", ttl = "24h")]
async fn refund<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    _body: String,
) -> &'static str {
    "refunded"
}

// A refund was answered with the charge of the same key, and never run.
// Cases: S-04
pub async fn operations_of_two_names_are_two_requests<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/charges", post(charge::<DB>)).route("/refunds", post(refund::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1().path("/charges")).await;
    let other = server.send(&r1().path("/refunds")).await;

    assert_ran(&first, 200);
    assert_problem(&other, "idempotency_key_reused");
    assert_replays(&first, &server.send(&r1().path("/charges")).await);
}
