//! An array taken apart, with a rest in the middle and one bound to a name.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[idempotent(scope = "last, endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    Json([first, middle @ .., last]): Json<[String; 4]>,
) -> Result<String, AppError> {
    let id = order(tx, &first).await?;
    Ok(format!("{id} {first} {} {last}", middle.len()))
}

#[tokio::test]
async fn an_array_pattern_binds() {
    let answer = once("/orders", post(create), &r1().body(r#"["a","b","c","d"]"#)).await;

    assert_eq!(answer.text(), "1 a 2 d");
}
