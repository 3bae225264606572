//! Test suites of an application that wrap each test in a transaction and roll it back.
//!
//! The engine begins and ends its own transaction, so a request cannot be part of one. The handler can: `inner` keeps it
//! callable as it was written.

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::Bench;
use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::on_both_databases;
use sqlx::Transaction;

#[idempotent(scope = "tenant,endpoint", ttl = "24h", inner = "create_inner")]
async fn create<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

// Reports: U08
async fn a_handler_runs_in_the_transaction_of_a_test_and_leaves_nothing<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().routes(Router::new().route("/orders", post(create::<DB>))).app().await;
    let mut tx = app.writer.begin().await.expect("a connection is free");
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };

    let created = create_inner::<DB>(&mut tx, TenantId("t1".to_owned()), Json(order)).await;
    let seen =
        DB::integer(&mut tx, "SELECT count(*) FROM orders", &[]).await.expect("the transaction is whole");
    tx.rollback().await.expect("the transaction is whole");

    let (status, Json(order)) = created.expect("the order is taken");
    assert_eq!((status, order.item.as_str()), (StatusCode::CREATED, "tea"));
    assert_eq!(seen, Some(1));
    bench.assert_holds(0, 0).await;
    bench.place.assert_whole(&app.writer).await;
}

on_both_databases! {
    a_handler_runs_in_the_transaction_of_a_test_and_leaves_nothing
}
