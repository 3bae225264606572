//! Arguments that bind nothing. What is not read is compared all the same.

use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    _: HeaderMap,
    Json(NewOrder { .. }): Json<NewOrder>,
) -> Result<String, AppError> {
    Ok(order(tx, "tea").await?.to_string())
}

#[tokio::test]
async fn what_is_not_bound_is_compared() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let first = twice(server, &r1()).await;
        let other = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;

        assert_eq!((first.text(), other.status), ("1", 422));
        bench.assert_holds(1, 1).await;
    })
    .await;
}
