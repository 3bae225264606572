//! The process is asked to end (SIGTERM) while several requests are at work.

use idem_tests::bench::{Bench, run_on_own_database};
use idem_tests::http::{Request, open, r1};
use idem_tests::patience::eventually;
use idem_tests::problem::assert_problem;
use idem_tests::process::Process;
use idem_tests::proxy::{At, Hold, PgProxy};
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::Postgres;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::process::Command;

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

/// How long a shutdown waits for those at work, in seconds: longer than it takes the test to let them go on.
const DRAIN_SECS: &str = "3";

/// Holds the handler that comes next between its statement and its answer.
fn hold_handler(proxy: &PgProxy) -> Hold {
    proxy.hold(At::Reply, |round| round.runs("INSERT INTO orders"))
}

// Cases: T-20, T-08
#[tokio::test]
async fn those_who_end_in_time_are_answered_and_the_rest_can_be_sent_again() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let url = bench.place.url(Some(proxy.address()));
        let mut command = Command::new(PROGRAM);
        command.env("DRAIN_SECS", DRAIN_SECS);
        let process = Process::spawn(command, &url).await;
        let requests = [(); 4].map(|()| r1().fresh_key());
        let in_handler = r1().path("/slow").fresh_key();

        let mut in_statements = Vec::new();
        for request in &requests {
            let mut hold = hold_handler(&proxy);
            let pending = open(process.address, request).await;
            hold.reached().await;
            in_statements.push((hold, pending));
        }
        let waits_in_handler = open(process.address, &in_handler).await;
        assert_ran(&process.send(&Request::new("GET", "/gate?waiting=1")).await, 204);
        process.terminate().await;
        let address = process.address;
        eventually(async || TcpStream::connect(address).await.is_err()).await;

        // Two go on, one whose client has left goes on as well, one is stuck in its statement.
        let mut in_statements = in_statements.into_iter();
        let mut next = || in_statements.next().expect("there are four");
        let [first, second, left, stuck] = [next(), next(), next(), next()];
        drop(left.1);
        for hold in [first.0, second.0, left.0] {
            hold.release();
        }
        let answers = [first.1.answer().await, second.1.answer().await];
        for answer in &answers {
            assert_ran(answer, 201);
        }
        assert_problem(&stuck.1.answer().await, "idempotency_outcome_unknown");
        assert_problem(&waits_in_handler.answer().await, "idempotency_outcome_unknown");
        process.ended().await;
        bench.assert_holds(3, 3).await;
        stuck.0.cut();
        eventually(async || bench.place.sessions_in_transaction().await == 0).await;

        let process = Process::start(PROGRAM, &url).await;
        assert_ran(&process.send(&Request::new("POST", "/gate")).await, 204);
        for (request, answer) in requests.iter().zip(&answers) {
            assert_replays(answer, &process.send(request).await);
        }
        assert!(process.send(&requests[2]).await.is_replay(), "its client had left");
        for request in [&requests[3], &in_handler] {
            let first = process.send(request).await;
            assert_ran(&first, 201);
            assert_replays(&first, &process.send(request).await);
        }
        assert_eq!(process.runs().await, 2);
        bench.assert_holds(5, 5).await;
    })
    .await;
}

// Cases: T-20
#[tokio::test]
async fn a_client_that_never_ends_its_request_does_not_hold_the_process() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let mut command = Command::new(PROGRAM);
        command.env("DRAIN_SECS", "1");
        let process = Process::spawn(command, &bench.place.url(None)).await;
        let mut half = TcpStream::connect(process.address).await.expect("the server accepts connections");
        half.write_all(b"POST /orders HTTP/1.1\r\nContent-Le").await.expect("it reads");
        // Answered on another connection, so the first has been accepted.
        assert_ran(&process.send(&r1()).await, 201);

        process.terminate().await;

        process.ended().await;
    })
    .await;
}
