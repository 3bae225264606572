//! Arguments under `#[cfg]`: one that is there, and one whose type does not even exist.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::Query;
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    #[cfg(any())] Json(audit): Json<NoSuchType>,
    #[cfg(not(any()))]
    #[fingerprint(skip)]
    Query(trace): Query<BTreeMap<String, u8>>,
    #[cfg_attr(any(), no_such_attribute)] Json(new): Json<NewOrder>,
) -> Result<String, AppError> {
    #[cfg(any())]
    drop(audit);
    order(tx, &new.item).await?;
    Ok(format!("{trace:?}"))
}

#[tokio::test]
async fn an_argument_that_is_configured_out_is_none() {
    let answer = once("/orders", post(create), &r1().path("/orders?n=1")).await;

    assert_eq!(answer.text(), r#"{"n": 1}"#);
}
