//! Extractors under a plain name. The scope reaches through `Deref` to what is inside.

use axum::Json;
use axum::extract::Path;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[idempotent(scope = "shop = path.0.0, inside = body.item, endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    path: Path<(String, u64)>,
    body: Json<NewOrder>,
) -> Result<String, AppError> {
    let id = order(tx, &body.item).await?;
    Ok(format!("{id} {} {}", path.0.1, body.qty))
}

#[tokio::test]
async fn an_extractor_may_stay_whole() {
    let answer = once("/{shop}/{shelf}", post(create), &r1().path("/s1/7")).await;

    assert_eq!(answer.text(), "1 7 1");
}
