//! Documentation and lint levels on arguments, which rustc and axum would take or leave.

use axum::Json;
use axum::http::HeaderMap;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

/// Creates an order.
#[idempotent(scope = "endpoint")]
async fn create(
    /// Where everything is written.
    tx: &mut SqliteConnection,
    /// For later.
    #[expect(unused_variables)]
    headers: HeaderMap,
    /// What is ordered.
    ///
    /// In many words.
    #[allow(unused_mut)]
    Json(mut new): Json<NewOrder>,
) -> Result<String, AppError> {
    Ok(order(tx, &new.item).await?.to_string())
}

#[tokio::test]
async fn arguments_may_be_documented() {
    let answer = once("/orders", post(create), &r1()).await;

    assert_eq!(answer.text(), "1");
}
