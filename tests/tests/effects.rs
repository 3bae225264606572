//! Effects outside the database, when the connection is lost at COMMIT.

#![expect(clippy::result_large_err, reason = "handlers answer with whole responses, failed or not")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use idem_tests::bench::{Bench, run};
use idem_tests::hand::Hand;
use idem_tests::http::r1;
use idem_tests::patience::soon;
use idem_tests::problem::assert_problem;
use idem_tests::proxy::At;
use idem_tests::same::assert_ran;
use sqlx::Postgres;

// Reports: B35
#[tokio::test]
async fn what_waits_for_the_commit_is_not_done_when_the_commit_is_lost() {
    run(async |bench: &Bench<Postgres>| {
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let hand = Hand::new(move |_, execution| {
            let count = Arc::clone(&count);
            execution.after_commit(async move {
                count.fetch_add(1, Ordering::SeqCst);
            });
            Ok(StatusCode::CREATED.into_response())
        });
        let proxy = bench.proxy().await;
        let server = bench.server().through(&proxy).routes(hand.routes()).start().await;

        let mut commit = proxy.hold(At::Request, |round| round.runs("COMMIT"));
        let lost = server.open(&r1()).await;
        commit.reached().await;
        commit.cut();
        assert_problem(&lost.answer().await, "idempotency_outcome_unknown");
        assert_eq!(sent.load(Ordering::SeqCst), 0);
        let first = server.retry(&r1()).await;
        assert_eq!(soon(server.app.idempotency.drain(Duration::from_secs(20))).await, 0);

        assert_ran(&first, 201);
        assert_eq!(hand.runs(), 2);
        assert_eq!(sent.load(Ordering::SeqCst), 1, "for the run that committed");
        bench.assert_holds(1, 1).await;
    })
    .await;
}
