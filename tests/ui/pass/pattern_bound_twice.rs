//! A name for the whole and another for a part of it, by reference: `ref order @ NewOrder { ref item, .. }`.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[idempotent(scope = "order.qty, item, endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    Json(ref order @ NewOrder { ref item, .. }): Json<NewOrder>,
) -> Result<String, AppError> {
    let id = self::order(tx, item).await?;
    Ok(format!("{id} {}", order.item))
}

#[tokio::test]
async fn a_whole_and_its_part_bind() {
    let answer = once("/orders", post(create), &r1()).await;

    assert_eq!(answer.text(), "1 tea");
}
