//! `-> Result<impl IntoResponse, _>`: the answer has no name, and yet an `Err` is seen.

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut SqliteConnection, item: String) -> Result<impl IntoResponse, AppError> {
    let id = order(tx, &item).await?;
    if item.is_empty() { Err(AppError::Refused("nothing")) } else { Ok(id.to_string()) }
}

#[tokio::test]
async fn an_err_beside_an_open_answer_rolls_back() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let refused = twice(server, &r1().body("").fresh_key()).await;
        let created = twice(server, &r1().body("tea").fresh_key()).await;

        assert_eq!((refused.status, created.text()), (422, "1"));
        bench.assert_holds(2, 1).await;
    })
    .await;
}
