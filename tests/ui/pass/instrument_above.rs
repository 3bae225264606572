//! `#[tracing::instrument]` above the attribute, with the handler's own names.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder, TenantId};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[tracing::instrument(skip(tx, new), fields(item = %new.item), err)]
#[idempotent(scope = "tenant,endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    Json(new): Json<NewOrder>,
) -> Result<String, AppError> {
    order(tx, &new.item).await?;
    Ok(tenant.0)
}

#[tokio::test]
async fn a_span_may_be_around_the_run() {
    let answer = once("/orders", post(create), &r1()).await;

    assert_eq!(answer.text(), "t1");
}
