//! A handler that is an item of another function's body.

use axum::routing::{MethodRouter, post};
use idem_examples::reference::{App, AppError};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::{Sqlite, SqliteConnection};

fn route() -> MethodRouter<App<Sqlite>> {
    #[idempotent(scope = "endpoint")]
    async fn create(tx: &mut SqliteConnection) -> Result<String, AppError> {
        Ok(order(tx, "tea").await?.to_string())
    }

    post(create)
}

#[tokio::test]
async fn a_handler_may_be_local() {
    let answer = once("/orders", route(), &r1()).await;

    assert_eq!(answer.text(), "1");
}
