//! A tuple of extractors as one argument: one is a part of the scope, the other is compared.

use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder, TenantId};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::problem::assert_problem;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "tenant,endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    (tenant, Json(new)): (TenantId, Json<NewOrder>),
) -> Result<String, AppError> {
    order(tx, &new.item).await?;
    Ok(tenant.0)
}

#[tokio::test]
async fn the_other_extractor_is_compared() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        twice(server, &r1()).await;

        let other = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;

        assert_problem(&other, "idempotency_key_reused");
        assert_eq!(bench.key_row().await.scope, "tenant=t1&endpoint=POST%20/orders");
    })
    .await;
}
