//! `#[tracing::instrument]` below the attribute, where the arguments are the guard and the extractors.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
#[tracing::instrument(skip_all, fields(item = %new.item))]
async fn create(tx: &mut SqliteConnection, Json(new): Json<NewOrder>) -> Result<String, AppError> {
    Ok(order(tx, &new.item).await?.to_string())
}

#[tokio::test]
async fn a_span_may_be_around_the_request() {
    let answer = once("/orders", post(create), &r1()).await;

    assert_eq!(answer.text(), "1");
}
