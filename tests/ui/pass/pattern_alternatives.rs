//! Alternatives that bind the same name and leave nothing out.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

#[derive(Deserialize, Serialize)]
enum Payment {
    Card { token: String },
    Transfer(String),
}

#[idempotent(scope = "token, endpoint")]
async fn pay(
    tx: &mut SqliteConnection,
    Json(Payment::Card { token } | Payment::Transfer(token)): Json<Payment>,
) -> Result<String, AppError> {
    order(tx, &token).await?;
    Ok(token)
}

#[tokio::test]
async fn either_alternative_binds() {
    let card = once("/orders", post(pay), &r1().body(r#"{"Card":{"token":"c1"}}"#)).await;
    let transfer = once("/orders", post(pay), &r1().body(r#"{"Transfer":"t1"}"#)).await;

    assert_eq!((card.text(), transfer.text()), ("c1", "t1"));
}
