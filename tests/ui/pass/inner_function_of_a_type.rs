//! `inner = "Self::…"`: an associated handler that says `Self`, in its arguments, its body and its answer.

use axum::routing::post;
use axum::{Form, Json};
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
    const PREFIX: &str = "order of ";

    #[idempotent(scope = "item,endpoint", inner = "Self::insert")]
    async fn create(
        tx: &mut SqliteConnection,
        Form(Self { item }): Form<Self>,
    ) -> Result<Json<Self>, AppError> {
        order(tx, &item).await?;
        Ok(Json(Self { item: Self::PREFIX.to_owned() + &item }))
    }
}

#[tokio::test]
async fn an_associated_handler_may_say_self() {
    let form = r1().set("Content-Type", "application/x-www-form-urlencoded").body("item=tea");

    let answer = once("/orders", post(Orders::create), &form).await;

    assert_eq!(answer.text(), r#"{"item":"order of tea"}"#);
}
