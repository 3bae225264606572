//! Tuples within an extractor, nested, partly ignored and partly `mut`.

use axum::Json;
use axum::extract::Path;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[idempotent(scope = "shop, size, endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    Path((shop, mut shelf)): Path<(String, i64)>,
    Json((_, (size, ..))): Json<(bool, (u8, u8, u8))>,
) -> Result<String, AppError> {
    shelf += order(tx, &shop).await?;
    Ok(format!("{shop} {shelf} {size}"))
}

#[tokio::test]
async fn nested_tuples_bind() {
    let answer = once("/{shop}/{shelf}", post(create), &r1().path("/s1/7").body("[true,[4,5,6]]")).await;

    assert_eq!(answer.text(), "s1 8 4");
}
