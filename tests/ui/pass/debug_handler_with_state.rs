//! `#[axum::debug_handler]` that reads the router's state off an argument.

use axum::extract::State;
use axum::routing::post;
use idem_examples::reference::{App, AppError};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::{Sqlite, SqliteConnection};

#[idempotent(scope = "endpoint")]
#[axum::debug_handler]
async fn create(
    tx: &mut SqliteConnection,
    #[context] State(app): State<App<Sqlite>>,
    item: String,
) -> Result<String, AppError> {
    app.probe.ran();
    Ok(order(tx, &item).await?.to_string())
}

#[tokio::test]
async fn debug_handler_finds_the_state() {
    let answer = once("/orders", post(create), &r1().body("tea")).await;

    assert_eq!(answer.text(), "1");
}
