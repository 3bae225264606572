//! PostgreSQL is stopped and started again while clients go on sending.

use std::net::SocketAddr;
use std::time::Duration;

use idem_tests::bench::{Bench, run_on};
use idem_tests::database::{PgPlace, Place as _};
use idem_tests::faults::is_long;
use idem_tests::http::{Answer, Request, open, r1};
use idem_tests::own_server::{OwnServer, Shutdown};
use idem_tests::patience::soon;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::Postgres;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How long a client pauses before it tries again.
const PAUSE: Duration = Duration::from_millis(20);

/// What all clients together have come to.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Operations that were answered with 201.
    done: usize,
    /// Requests that were told to try again.
    refused: usize,
    /// Whether the clients begin no more operations.
    is_over: bool,
}

/// Whether an answer is the operation's; if it is not, it must be one that a restart of the server may cause.
fn is_final(answer: &Answer) -> bool {
    match answer.status {
        201 => return true,
        409 => assert_problem(answer, "idempotency_in_progress"),
        // The handler's own word for a statement that failed.
        500 => assert_eq!(answer.text(), r#"{"error":"database"}"#),
        _ => {
            let code = answer.json()["code"].as_str().unwrap_or_default().to_owned();
            let expected =
                ["store_unavailable", "transient", "outcome_unknown"].map(|end| format!("idempotency_{end}"));
            assert!(expected.contains(&code), "{answer:?}");
            assert_problem(answer, &code);
        }
    }
    false
}

/// Sends one operation after the other, each until it has its answer, to one process and then the other.
async fn client(processes: [SocketAddr; 2], progress: watch::Sender<Progress>) -> Vec<(Request, Answer)> {
    let mut operations = Vec::new();
    while !progress.borrow().is_over {
        let request = r1().fresh_key();
        for address in processes.into_iter().cycle() {
            let answer = open(address, &request).await.answer().await;
            if is_final(&answer) {
                operations.push((request, answer));
                progress.send_modify(|progress| progress.done += 1);
                break;
            }
            progress.send_modify(|progress| progress.refused += 1);
            sleep(PAUSE).await;
        }
    }
    operations
}

/// Restarts the server under eight clients, as many times as `times` says.
async fn restart_under_load(how: Shutdown, times: usize) {
    let mut server = OwnServer::start().await;
    let place = PgPlace::on(&server).await;
    run_on(place, async |bench: &Bench<Postgres>| {
        let launch = || bench.server().connections(4).engine(|builder| builder.acquire_timeout(15 * PAUSE));
        let processes = [launch().start().await, launch().start().await];
        let progress = watch::Sender::new(Progress::default());
        let mut watched = progress.subscribe();

        let mut clients = JoinSet::new();
        for _ in 0..8 {
            clients.spawn(client([processes[0].address, processes[1].address], progress.clone()));
        }
        for _ in 0..times {
            let before = *progress.borrow();
            soon(watched.wait_for(|now| now.done >= before.done + 40)).await.expect("clients are at work");
            server.stop(how).await;
            soon(watched.wait_for(|now| now.refused >= before.refused + 16)).await.expect("clients go on");
            server.start_again().await;
        }
        let before = *progress.borrow();
        soon(watched.wait_for(|now| now.done >= before.done + 40)).await.expect("clients go on");
        progress.send_modify(|progress| progress.is_over = true);
        let operations = soon(clients.join_all()).await.concat();

        let count = operations.len();
        bench.assert_holds(count, i64::try_from(count).expect("a small number")).await;
        for (number, (request, first)) in operations.iter().enumerate() {
            let sql = format!("SELECT count(*) FROM orders WHERE id = {}", first.id());
            assert_eq!(bench.place.integer(&sql).await, 1, "the answer names its own order");
            assert_replays(first, &processes[number % 2].send(request).await);
        }
        for process in &processes {
            bench.place.assert_whole(&process.app.writer).await;
        }
        assert_ran(&processes[0].send(&r1()).await, 201);
    })
    .await;
}

fn times() -> usize {
    if is_long() { 10 } else { 2 }
}

// Cases: T-06, T-07, T-22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_restarted_under_load_costs_no_operation_and_doubles_none() {
    restart_under_load(Shutdown::Fast, times()).await;
}

// Cases: T-06, T-07, T-22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_under_load_costs_no_operation_and_doubles_none() {
    restart_under_load(Shutdown::Immediate, times()).await;
}
