//! The process dies, by `kill -9`, at each step.
//!
//! A proxy before PostgreSQL holds the process at the step; the next process answers the retry.

use std::time::Duration;

use idem_tests::bench::{Bench, run_on_own_database};
use idem_tests::database::KeyRow;
use idem_tests::http::{Answer, Request, open, r1};
use idem_tests::patience::{eventually, within};
use idem_tests::problem::assert_problem;
use idem_tests::process::Process;
use idem_tests::proxy::{At, Round};
use idem_tests::same::assert_ran;
use sqlx::Postgres;
use tokio::net::TcpStream;

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

/// How often a process is killed at each step.
const ROUNDS: usize = 25;

/// How long a retry may take.
const RETRY_LIMIT: Duration = Duration::from_secs(1);

/// Sends a request until it is not in progress: the server may still be rolling the dead process's
/// transaction back.
async fn retry(process: &Process, request: &Request) -> Answer {
    within(RETRY_LIMIT, async {
        loop {
            let answer = process.send(request).await;
            if answer.status != 409 {
                return answer;
            }
            assert_problem(&answer, "idempotency_in_progress");
        }
    })
    .await
}

/// Kills a process each time its request is at `step`, and retries with the next process. `is_done` says
/// whether the work is committed at that step.
async fn kill_at(at: At, step: fn(&Round) -> bool, is_done: bool) {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let url = bench.place.url(Some(proxy.address()));
        let mut process = Process::start(PROGRAM, &url).await;

        for round in 1..=ROUNDS {
            let request = r1().key(format!("\"k-{round}\""));
            let mut hold = proxy.hold(at, step);
            let first = open(process.address, &request).await;
            hold.reached().await;
            process.kill().await;
            hold.cut();
            assert_eq!(first.outcome().await, None, "a dead process answers nothing");

            process = Process::start(PROGRAM, &url).await;
            let answer = retry(&process, &request).await;
            assert_eq!(answer.status, 201, "{answer:?}");
            assert_eq!(answer.is_replay(), is_done);
            assert_eq!(process.runs().await, i64::from(!is_done));

            // As many business rows as completed key rows, one a key, and the answer names its own.
            let orders = i64::try_from(round).expect("a small number");
            bench.assert_holds(round, orders).await;
            bench.assert_newest_order(answer.id(), orders).await;
        }
        let rows: Vec<KeyRow> = bench.key_rows().await;
        assert!(rows.iter().all(KeyRow::is_completed));
    })
    .await;
}

// Cases: T-04
// Reports: B02
#[tokio::test]
async fn killed_after_reserve_the_retry_runs() {
    kill_at(At::Reply, |round| round.runs("INSERT INTO") && round.runs("idempotency_keys"), false).await;
}

// Cases: T-04
// Reports: B02
#[tokio::test]
async fn killed_after_the_business_write_the_retry_runs() {
    kill_at(At::Reply, |round| round.runs("INSERT INTO orders"), false).await;
}

// Cases: T-04
// Reports: B02
#[tokio::test]
async fn killed_before_commit_the_retry_runs() {
    kill_at(At::Request, |round| round.runs("COMMIT"), false).await;
}

// Cases: T-05
// Reports: B02
#[tokio::test]
async fn killed_after_commit_and_before_the_answer_the_retry_replays() {
    kill_at(At::Reply, |round| round.runs("COMMIT"), true).await;
}

// Cases: T-04
// Reports: B04, B26
#[tokio::test]
async fn killed_in_the_handler_the_retry_runs() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let url = bench.place.url(None);
        let slow = r1().path("/slow");
        let before = Process::start(PROGRAM, &url).await;
        let after = Process::start(PROGRAM, &url).await;

        let first = open(before.address, &slow).await;
        assert_ran(&before.send(&Request::new("GET", "/gate?waiting=1")).await, 204);
        let meanwhile = after.send(&slow).await;
        before.kill().await;
        assert_eq!(first.outcome().await, None);
        assert_ran(&after.send(&Request::new("POST", "/gate")).await, 204);
        let answer = retry(&after, &slow).await;

        assert_problem(&meanwhile, "idempotency_in_progress");
        assert_ran(&answer, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: T-20
#[tokio::test]
async fn a_terminated_process_finishes_its_work_first() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let process = Process::start(PROGRAM, &bench.place.url(Some(proxy.address()))).await;

        let mut hold = proxy.hold(At::Reply, |round| round.runs("INSERT INTO orders"));
        let first = open(process.address, &r1()).await;
        hold.reached().await;
        process.terminate().await;
        let address = process.address;
        eventually(async || TcpStream::connect(address).await.is_err()).await;
        hold.release();

        assert_ran(&first.answer().await, 201);
        process.ended().await;
        bench.assert_holds(1, 1).await;
    })
    .await;
}
