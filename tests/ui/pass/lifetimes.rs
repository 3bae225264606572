//! Lifetimes in the types of extractors and on the transaction, named and elided.

use std::borrow::Cow;

use axum::Json;
use axum::extract::Path;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::{Sqlite, Transaction};

#[idempotent(scope = "shelf,endpoint")]
async fn create<'a, 'b>(
    tx: &'a mut Transaction<'b, Sqlite>,
    Path(shelf): Path<Cow<'_, str>>,
    Json(note): Json<Cow<'a, str>>,
) -> Result<Json<Cow<'a, str>>, AppError>
where
    'b: 'a,
{
    order(tx, &shelf).await?;
    Ok(Json(note))
}

#[tokio::test]
async fn lifetimes_are_the_handlers_own_affair() {
    let answer = once("/{shelf}", post(create), &r1().path("/s1").body(r#""green""#)).await;

    assert_eq!(answer.text(), r#""green""#);
}
