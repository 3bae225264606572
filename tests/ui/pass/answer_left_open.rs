//! `-> impl IntoResponse`, which in this edition borrows whatever the handler borrows.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut SqliteConnection, item: String) -> impl IntoResponse {
    let id = order(tx, &item).await;
    (StatusCode::CREATED, [("x-item", item)], id.map_or_else(|error| error.to_string(), |id| id.to_string()))
}

#[tokio::test]
async fn an_answer_without_a_name_is_stored() {
    let answer = once("/orders", post(create), &r1().body("tea")).await;

    assert_eq!((answer.status, answer.field("x-item"), answer.text()), (201, Some("tea"), "1"));
}
