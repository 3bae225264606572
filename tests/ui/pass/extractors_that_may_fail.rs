//! Extractors within `Option` and `Result`: the handler is called whether they succeed or not.

use axum::extract::rejection::JsonRejection;
use axum::routing::post;
use axum::{Extension, Json, Router};
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    limit: Option<Extension<u64>>,
    new: Result<Json<NewOrder>, JsonRejection>,
) -> Result<String, AppError> {
    let item = new.map_or_else(|_| "surprise".to_owned(), |Json(new)| new.item);
    order(tx, &item).await?;
    Ok(format!("{item} {}", limit.is_some()))
}

#[tokio::test]
async fn what_was_not_extracted_is_not_what_was() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let surprise = twice(server, &r1().body("no JSON")).await;
        let tea = server.send(&r1()).await;

        assert_eq!((surprise.text(), tea.status), ("surprise false", 422));
        bench.assert_holds(1, 1).await;
    })
    .await;
}
