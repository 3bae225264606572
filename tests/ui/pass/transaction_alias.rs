//! The transaction under a type alias, as the last argument; a savepoint of it is undone.

use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::{Acquire as _, Sqlite, Transaction};

type Writes<'t> = Transaction<'t, Sqlite>;

#[idempotent(scope = "endpoint")]
async fn create(item: String, connection: &mut Writes<'_>) -> Result<String, AppError> {
    let mut savepoint = connection.begin().await?;
    order(&mut savepoint, &item).await?;
    savepoint.rollback().await?;
    Ok(order(connection, &item).await?.to_string())
}

#[tokio::test]
async fn the_transaction_is_found_by_its_mut() {
    let answer = once("/orders", post(create), &r1().body("tea")).await;

    assert_eq!(answer.text(), "1");
}
