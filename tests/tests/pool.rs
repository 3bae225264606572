//! Few connections and many requests: who waits for whom.

use std::time::Duration;

use idem_runtime::Builder;
use idem_tests::bench::{Bench, run};
use idem_tests::http::{open, r1};
use idem_tests::patience::soon;
use idem_tests::problem::assert_problem;
use idem_tests::same::assert_ran;
use sqlx::Postgres;
use tokio::task::JoinSet;

// Reports: B22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_keys_run_at_once_as_there_are_connections() {
    run(async |bench: &Bench<Postgres>| {
        let server = bench.server().connections(20).start().await;

        let mut running = Vec::new();
        for key in 0..20 {
            running.push(server.open(&r1().path("/slow").key(format!("\"k-{key}\""))).await);
        }
        // All of them in their handlers, at the same time.
        soon(server.gate().arrivals(20)).await;
        server.gate().open();

        for request in running {
            assert_ran(&request.answer().await, 201);
        }
        bench.assert_holds(20, 20).await;
    })
    .await;
}

// Reports: B61
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_are_refused_while_slow_handlers_have_every_connection_and_others_wait_for_one() {
    run(async |bench: &Bench<Postgres>| {
        // Longer than the test takes on a busy machine.
        let limit = Duration::from_mins(1);
        let engine = move |builder: Builder<Postgres>| builder.acquire_timeout(limit);
        let server = bench.server().connections(5).engine(engine).start().await;
        let slow = |key: usize| r1().path("/slow").key(format!("\"slow-{key}\""));

        let mut running = Vec::new();
        for key in 0..5 {
            running.push(server.open_up_to_the_gate(&slow(key)).await);
        }
        let mut unrelated = Vec::new();
        for _ in 0..5 {
            unrelated.push(server.open(&r1().fresh_key()).await);
        }
        let mut duplicates = JoinSet::new();
        for _ in 0..50 {
            let (address, request) = (server.address, slow(0));
            duplicates.spawn(async move { open(address, &request).await.answer().await });
        }
        // The gate is shut, and no connection is free.
        for duplicate in soon(duplicates.join_all()).await {
            assert_problem(&duplicate, "idempotency_in_progress");
        }
        server.gate().open();

        for request in running.into_iter().chain(unrelated) {
            assert_ran(&request.answer().await, 201);
        }
        assert_eq!(server.runs(), 10);
        bench.assert_holds(10, 10).await;
    })
    .await;
}
