//! Two handlers in one module with the same arguments, one of which calls an `async fn` that takes the transaction on.

use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder, TenantId};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

async fn insert(tx: &mut SqliteConnection, new: &NewOrder) -> Result<String, AppError> {
    Ok(order(tx, &new.item).await?.to_string())
}

#[idempotent(scope = "tenant,endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    Json(new): Json<NewOrder>,
) -> Result<String, AppError> {
    insert(tx, &new).await
}

#[idempotent(scope = "tenant,endpoint")]
async fn create_two(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    Json(new): Json<NewOrder>,
) -> Result<String, AppError> {
    insert(tx, &new).await?;
    insert(tx, &new).await
}

#[tokio::test]
async fn the_same_key_at_two_handlers_is_two_keys() {
    let routes = Router::new().route("/one", post(create)).route("/two", post(create_two));
    serve(routes, async |bench, server| {
        let one = twice(server, &r1().path("/one")).await;
        let two = twice(server, &r1().path("/two")).await;

        assert_eq!((one.text(), two.text()), ("1", "3"));
        bench.assert_holds(2, 3).await;
    })
    .await;
}
