//! Handlers of other keys hold every connection of the pool.

use std::time::Duration;

use idem_tests::bench::{Bench, run};
use idem_tests::http::{Request, r1};
use idem_tests::patience::within;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use sqlx::Postgres;
use tokio::time::Instant;

/// How long a request waits for a connection.
const LIMIT: Duration = Duration::from_secs(1);

/// How much later than at its limit a request may be answered, on a busy machine.
const MARGIN: Duration = Duration::from_secs(5);

/// A server of three connections, and the key of a request that is completed already.
async fn start(bench: &Bench<Postgres>) -> (Server<Postgres>, Request) {
    let server = bench.server().connections(3).engine(|builder| builder.acquire_timeout(LIMIT)).start().await;
    let completed = r1().fresh_key();
    assert_ran(&server.send(&completed).await, 201);
    (server, completed)
}

// Cases: T-21, C-01, C-10
#[tokio::test]
async fn whoever_needs_a_connection_is_refused_in_time_and_duplicates_of_the_holders_at_once() {
    run(async |bench: &Bench<Postgres>| {
        let (server, completed) = start(bench).await;
        let holders = [(); 3].map(|()| r1().path("/slow").fresh_key());
        let mut running = Vec::new();
        for request in &holders {
            running.push(server.open_up_to_the_gate(request).await);
        }

        // Many at once, and all of them within one time-out: none waits for another's turn.
        let newcomers = [(); 10].map(|()| r1().fresh_key());
        let begun = Instant::now();
        let mut waiting = Vec::new();
        for request in newcomers.iter().chain([&completed]) {
            waiting.push(server.open(request).await);
        }
        for request in holders.iter().cycle().take(30) {
            let duplicate = within(LIMIT, server.send(request)).await;
            assert_problem(&duplicate, "idempotency_in_progress");
        }
        for refused in waiting {
            assert_problem(&refused.answer().await, "idempotency_store_unavailable");
        }
        let took = begun.elapsed();
        assert!((LIMIT..LIMIT + MARGIN).contains(&took), "{took:?}");
        assert_eq!(server.runs(), 4, "no newcomer has run");

        server.gate().open();
        for (request, running) in holders.iter().zip(running) {
            assert_replays(&running.answer().await, &server.send(request).await);
        }
        for request in &newcomers {
            assert_ran(&server.send(request).await, 201);
        }
        assert!(server.send(&completed).await.is_replay());
        bench.assert_holds(14, 14).await;
    })
    .await;
}

// Cases: T-21
#[tokio::test]
async fn a_connection_that_comes_free_in_time_is_had() {
    run(async |bench: &Bench<Postgres>| {
        let (server, completed) = start(bench).await;
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(server.app.writer.acquire().await.expect("the pool is whole"));
        }

        let newcomer = server.open(&r1()).await;
        let replay = server.open(&completed).await;
        held.clear();

        assert_ran(&newcomer.answer().await, 201);
        assert!(replay.answer().await.is_replay());
        bench.assert_holds(2, 2).await;
    })
    .await;
}
