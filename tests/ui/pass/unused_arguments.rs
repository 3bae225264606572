//! Arguments that the handler does not read: `_name`, and one that only the scope does.

use axum::http::HeaderMap;
use axum::routing::post;
use idem_examples::reference::{AppError, TenantId};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[idempotent(scope = "tenant, shop = _shop, endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    _shop: TenantId,
    _headers: HeaderMap,
) -> Result<String, AppError> {
    Ok(order(tx, "tea").await?.to_string())
}

#[tokio::test]
async fn what_only_the_scope_reads_is_used() {
    let answer = once("/orders", post(create), &r1()).await;

    assert_eq!(answer.text(), "1");
}
