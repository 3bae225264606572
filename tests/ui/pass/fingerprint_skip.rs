//! `#[fingerprint(skip)]` beside a pattern: what differs there is a retry all the same.

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    #[fingerprint(skip)] Query(trace): Query<BTreeMap<String, String>>,
    Json(new): Json<NewOrder>,
) -> Result<String, AppError> {
    order(tx, &new.item).await?;
    Ok(format!("{trace:?}"))
}

#[tokio::test]
async fn a_retry_may_differ_in_what_is_skipped() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let first = server.send(&r1().path("/orders?trace=a")).await;
        let again = server.send(&r1().path("/orders?trace=b")).await;

        assert_eq!(first.text(), r#"{"trace": "a"}"#);
        assert!(again.is_replay());
        assert_eq!(again.text(), first.text());
        bench.assert_holds(1, 1).await;
    })
    .await;
}
