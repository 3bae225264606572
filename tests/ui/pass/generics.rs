//! Type parameters, bounded in place and in a `where` clause, in the payload and beside it.

use std::collections::BTreeMap;
use std::fmt::Debug;

use axum::Json;
use axum::extract::Query;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create<T: Serialize + DeserializeOwned, U>(
    tx: &mut SqliteConnection,
    Query(filter): Query<U>,
    Json(list): Json<Vec<T>>,
) -> Result<Json<Vec<T>>, AppError>
where
    U: Serialize + DeserializeOwned + Debug,
{
    order(tx, &format!("{filter:?}")).await?;
    Ok(Json(list))
}

#[tokio::test]
async fn type_parameters_are_passed_on() {
    let request = r1().path("/orders?page=2").body(r#"[{"item":"tea","qty":1}]"#);

    let answer = once("/orders", post(create::<NewOrder, BTreeMap<String, u8>>), &request).await;

    assert_eq!(answer.text(), r#"[{"item":"tea","qty":1}]"#);
}
