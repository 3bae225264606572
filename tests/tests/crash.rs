//! The process dies, by `kill -9`, before and after every statement of a request.
//!
//! A proxy before PostgreSQL holds the process there; the next process answers the retry.

use std::time::Duration;

use idem_tests::bench::{Bench, run_on_own_database};
use idem_tests::faults::{Case, Counted, Kind, Recording};
use idem_tests::http::{Answer, Request, open, r1};
use idem_tests::patience::{eventually, within};
use idem_tests::problem::assert_problem;
use idem_tests::process::Process;
use idem_tests::proxy::{At, PgProxy};
use idem_tests::same::assert_ran;
use sqlx::Postgres;
use tokio::net::TcpStream;

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

/// How long a retry may take.
const RETRY_LIMIT: Duration = Duration::from_secs(5);

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

/// Kills a process before and after each statement of a request of this kind, and retries with the next process.
///
/// Each time with a new process, so that the request is its first.
async fn kill_at_every_statement(kind: Kind) {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let url = bench.place.url(Some(proxy.address()));
        let mut process = Process::start(PROGRAM, &url).await;
        let recording = record(bench, &proxy, kind, &process, &url).await;

        for moment in recording.moments() {
            // Shown if the test fails; the last line tells where.
            eprintln!("{}", recording.describe(moment));
            let case = Case::prepare(kind, bench, process.address).await;
            let victim = Process::start(PROGRAM, &url).await;

            let mut hold = recording.hold(&proxy, moment);
            let first = open(victim.address, &case.request).await;
            hold.reached().await;
            recording.assert_at(&proxy, moment);
            victim.kill().await;
            hold.cut();
            assert_eq!(first.outcome().await, None, "a dead process answers nothing");

            let is_done = recording.expected(moment).is_done;
            case.assert_done(bench, is_done).await;
            process = Process::start(PROGRAM, &url).await;
            let answer = retry(&process, &case.request).await;
            case.assert_right(bench, &answer, is_done).await;
            assert_eq!(process.runs().await, i64::from(!is_done));
        }
    })
    .await;
}

/// Records the statements of a request that is the first of its process.
async fn record(
    bench: &Bench<Postgres>,
    proxy: &PgProxy,
    kind: Kind,
    other: &Process,
    url: &str,
) -> Recording {
    let case = Case::prepare(kind, bench, other.address).await;
    let process = Process::start(PROGRAM, url).await;
    proxy.forget();
    let answer = process.send(&case.request).await;
    case.assert_right(bench, &answer, false).await;
    Recording::of(kind, Counted::Statements, proxy)
}

// Cases: T-04, T-05
// Reports: B02
#[tokio::test]
async fn killed_at_any_statement_a_success_is_there_once_and_its_retry_gets_it() {
    kill_at_every_statement(Kind::Success).await;
}

// Cases: T-04, T-05
// Reports: B02
#[tokio::test]
async fn killed_at_any_statement_a_failed_answer_is_stored_or_run_again() {
    kill_at_every_statement(Kind::Failure).await;
    kill_at_every_statement(Kind::Decided500).await;
}

// Cases: T-04, T-05
// Reports: B02
#[tokio::test]
async fn killed_at_any_statement_a_failure_that_keeps_its_writes_has_them_once() {
    kill_at_every_statement(Kind::KeptWrites).await;
}

// Cases: T-05
// Reports: B02
#[tokio::test]
async fn killed_at_any_statement_a_replay_or_a_mismatch_changes_nothing() {
    kill_at_every_statement(Kind::Replay).await;
    kill_at_every_statement(Kind::Mismatch).await;
}

// Cases: T-04, T-05, X-03
// Reports: B02
#[tokio::test]
async fn killed_at_any_statement_an_expired_row_is_taken_over_once() {
    kill_at_every_statement(Kind::TakeOver).await;
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
