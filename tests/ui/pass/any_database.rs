//! A handler for whatever database: the transaction's type is generic.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::{AppError, Database, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::once;
use sqlx::{Sqlite, Transaction};

#[idempotent(scope = "tenant,endpoint")]
async fn create<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<Json<Order>, AppError> {
    insert_order::<DB>(tx, &tenant, &order).await.map(Json)
}

#[tokio::test]
async fn the_database_is_a_parameter() {
    let answer = once("/orders", post(create::<Sqlite>), &r1()).await;

    assert_eq!(answer.id(), 1);
}
