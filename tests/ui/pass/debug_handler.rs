//! `#[axum::debug_handler]` below the attribute, told the router's state.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::{App, AppError, NewOrder, TenantId};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::{Sqlite, SqliteConnection};

#[idempotent(scope = "tenant,endpoint")]
#[axum::debug_handler(state = App<Sqlite>)]
async fn create(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    Json(new): Json<NewOrder>,
) -> Result<String, AppError> {
    order(tx, &new.item).await?;
    Ok(tenant.0)
}

#[tokio::test]
async fn debug_handler_sees_a_handler() {
    let answer = once("/orders", post(create), &r1()).await;

    assert_eq!(answer.text(), "t1");
}
