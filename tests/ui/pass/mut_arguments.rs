//! `mut` on arguments, the transaction included.

use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

const fn the_same(connection: &mut SqliteConnection) -> &mut SqliteConnection {
    connection
}

#[idempotent(scope = "item,endpoint")]
async fn create(mut tx: &mut SqliteConnection, mut item: String) -> Result<String, AppError> {
    tx = the_same(tx);
    item.push_str(&order(tx, &item).await?.to_string());
    Ok(item)
}

#[tokio::test]
async fn arguments_may_be_changed() {
    let answer = once("/orders", post(create), &r1().body("tea")).await;

    assert_eq!(answer.text(), "tea1");
}
