//! A handler among the functions of a type. It names the type, since `Self` means nothing to a nested function.

use axum::Json;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

#[derive(Deserialize, Serialize)]
struct Orders {
    item: String,
}

impl Orders {
    const PREFIX: &str = "order";

    #[expect(clippy::use_self, reason = "there is no `Self` in a nested function")]
    #[idempotent(scope = "endpoint")]
    async fn create(tx: &mut SqliteConnection, Json(new): Json<Orders>) -> Result<String, AppError> {
        let id = order(tx, &new.item).await?;
        Ok(format!("{} {id}", Orders::PREFIX))
    }
}

#[tokio::test]
async fn a_handler_may_be_associated() {
    let answer = once("/orders", post(Orders::create), &r1()).await;

    assert_eq!(answer.text(), "order 1");
}
