//! `in_progress = "wait 10s, then 503"`: a duplicate waits for the first request and gets its answer.

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use idem_examples::reference::{AppError, Probe};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint", in_progress = "wait 10s, then 503")]
async fn create(tx: &mut SqliteConnection, State(probe): State<Probe>) -> Result<String, AppError> {
    let id = order(tx, "tea").await?;
    probe.gate.pass().await;
    Ok(id.to_string())
}

#[tokio::test]
async fn a_duplicate_waits_for_the_first_answer() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let first = server.open_up_to_the_gate(&r1()).await;
        let duplicate = server.open(&r1()).await;
        server.gate().open();

        let (first, duplicate) = (first.answer().await, duplicate.answer().await);

        assert_eq!((first.text(), duplicate.text(), duplicate.is_replay()), ("1", "1", true));
        bench.assert_holds(1, 1).await;
    })
    .await;
}
