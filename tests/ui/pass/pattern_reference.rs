//! A reference taken apart in the signature, `Extension(&limit)`; the scope names what it points to.

use axum::Extension;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

static LIMIT: u64 = 9;

#[idempotent(scope = "limit,endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    Extension(&limit): Extension<&'static u64>,
    item: String,
) -> Result<String, AppError> {
    order(tx, &item).await?;
    Ok(limit.to_string())
}

#[tokio::test]
async fn a_reference_pattern_binds() {
    let answer = once("/orders", post(create).layer(Extension(&LIMIT)), &r1().body("tea")).await;

    assert_eq!(answer.text(), "9");
}
