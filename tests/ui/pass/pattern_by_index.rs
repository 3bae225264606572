//! A tuple struct taken apart by index, `Json { 0: … }`, with a field bound by `ref mut`.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[idempotent(scope = "item,endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    Json { 0: NewOrder { ref mut item, .. } }: Json<NewOrder>,
) -> Result<String, AppError> {
    item.push('s');
    order(tx, item).await?;
    Ok(item.clone())
}

#[tokio::test]
async fn an_index_is_a_field_like_any_other() {
    let answer = once("/orders", post(create), &r1()).await;

    assert_eq!(answer.text(), "teas");
}
