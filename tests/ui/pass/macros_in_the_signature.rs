//! Macros in the place of types and of a pattern: what they stand for is not seen by the attribute.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

macro_rules! connection {
    () => {
        SqliteConnection
    };
}

macro_rules! payload {
    ($name:ident) => {
        Json($name)
    };
    () => {
        Json<NewOrder>
    };
}

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut connection!(), payload!(new): payload!()) -> Result<String, AppError> {
    Ok(order(tx, &new.item).await?.to_string())
}

#[tokio::test]
async fn a_macro_may_stand_for_a_type_or_a_pattern() {
    let answer = once("/orders", post(create), &r1()).await;

    assert_eq!(answer.text(), "1");
}
