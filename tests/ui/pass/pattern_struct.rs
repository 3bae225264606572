//! A struct taken apart in the signature; the scope names one of the pieces.

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
    Json(NewOrder { item, qty: mut count, .. }): Json<NewOrder>,
) -> Result<String, AppError> {
    count += order(tx, &item).await?;
    Ok(format!("{count} {item}"))
}

#[tokio::test]
async fn a_struct_pattern_binds() {
    let answer = once("/orders", post(create), &r1()).await;

    assert_eq!(answer.text(), "2 tea");
}
