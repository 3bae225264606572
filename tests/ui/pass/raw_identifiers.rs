//! Keywords as names: of the function, of an argument and of a field that the scope reads.

use axum::Json;
use axum::extract::Path;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

#[derive(Deserialize, Serialize)]
struct Move {
    r#type: String,
}

#[idempotent(scope = "loop, moved.type, endpoint")]
async fn r#move(
    tx: &mut SqliteConnection,
    Path(r#loop): Path<u64>,
    Json(moved): Json<Move>,
) -> Result<String, AppError> {
    let id = order(tx, &moved.r#type).await?;
    Ok(format!("{id} {loop} {}", moved.r#type, loop = r#loop))
}

#[tokio::test]
async fn keywords_are_names_like_any_other() {
    let answer = once("/{loop}", post(r#move), &r1().path("/3").body(r#"{"type":"up"}"#)).await;

    assert_eq!(answer.text(), "1 3 up");
}
