//! Two requests with one key, or fifty, and who of them runs.

use std::sync::Arc;

use idem_tests::bench::{Bench, run, run_on_own_database};
use idem_tests::http::Request;
use idem_tests::http::{Answer, open, r1};
use idem_tests::patience::soon;
use idem_tests::problem::assert_problem;
use idem_tests::process::Process;
use idem_tests::same::{assert_one_run, assert_ran, assert_replays};
use sqlx::Postgres;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

// Reports: B01, B42
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_at_once_in_two_processes_all_but_one_are_told_while_it_runs() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let url = bench.place.url(None);
        let processes = [Process::start(PROGRAM, &url).await, Process::start(PROGRAM, &url).await];
        let slow = r1().path("/slow");

        let mut clients = JoinSet::new();
        for client in 0..50 {
            let (address, slow) = (processes[client % 2].address, slow.clone());
            clients.spawn(async move { open(address, &slow).await.answer().await });
        }
        let mut next = async || -> Answer {
            let answer = soon(clients.join_next()).await.expect("one more client");
            answer.expect("the client was answered")
        };
        // The gate is shut: whoever is answered has not run, and has not waited for the one that does.
        for _ in 0..49 {
            assert_problem(&next().await, "idempotency_in_progress");
        }
        for process in &processes {
            assert_ran(&process.send(&Request::new("POST", "/gate")).await, 204);
        }
        let first = next().await;

        assert_ran(&first, 201);
        for process in &processes {
            assert_replays(&first, &process.send(&slow).await);
        }
        assert_eq!(processes[0].runs().await + processes[1].runs().await, 1);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Reports: B25
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_loses_the_race_is_told_409_or_the_answer_and_the_database_reports_no_error() {
    const ROUNDS: usize = 500;
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let servers =
            [bench.server().through(&proxy).start().await, bench.server().through(&proxy).start().await];

        for round in 0..ROUNDS {
            let start = Arc::new(Barrier::new(2));
            let mut clients = JoinSet::new();
            // Within one process, then across two.
            for server in [&servers[0], &servers[round % 2]] {
                let (address, start) = (server.address, Arc::clone(&start));
                let request = r1().key(format!("\"k-{round}\""));
                clients.spawn(async move {
                    start.wait().await;
                    open(address, &request).await.answer().await
                });
            }
            assert_one_run(&soon(clients.join_all()).await);
        }

        bench.assert_holds(ROUNDS, 500).await;
        assert_eq!(proxy.errors(), [""; 0], "no 23505 and no 25P02, neither answered nor swallowed");
    })
    .await;
}
