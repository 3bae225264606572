//! The process dies, by `kill -9`, while it writes to SQLite.
//!
//! Nothing stands between the process and its file, so no single statement can be waited for: it is killed while
//! several requests are under way, after as many answers as the round says.

use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::faults::is_long;
use idem_tests::http::{Answer, Request, open, r1};
use idem_tests::patience::soon;
use idem_tests::process::Process;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::Sqlite;
use tokio::task::JoinSet;

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

/// The requests that are under way when the process is killed: a route, and the status of its right answer.
const REQUESTS: [(&str, u16); 6] =
    [("/orders", 201), ("/err", 422), ("/orders", 201), ("/declined", 402), ("/orders", 201), ("/err", 422)];

/// Sends all requests at once, kills the process when so many are answered, and gives the answers that came.
async fn kill_after(process: Process, requests: &[Request], answered: usize) -> Vec<Option<Answer>> {
    let mut outcomes = JoinSet::new();
    for (number, request) in requests.iter().enumerate() {
        let pending = open(process.address, request).await;
        outcomes.spawn(async move { (number, pending.outcome().await) });
    }
    let mut answers = vec![None; requests.len()];
    let mut process = Some(process);
    for count in 0..requests.len() {
        if count == answered {
            process.take().expect("it is killed once").kill().await;
        }
        let (number, outcome) =
            soon(outcomes.join_next()).await.expect("a request for each").expect("no client panics");
        answers[number] = outcome;
    }
    if let Some(process) = process {
        process.kill().await;
    }
    answers
}

// Cases: T-04, T-05
// Reports: B02
#[tokio::test]
async fn killed_at_any_moment_each_operation_is_there_once_and_its_retry_gets_it() {
    run(async |bench: &Bench<Sqlite>| {
        let url = bench.place.url();
        let rounds = if is_long() { 200 } else { 50 };
        let mut process = Process::start(PROGRAM, &url).await;
        for round in 1..=rounds {
            let requests = REQUESTS.map(|(path, _)| r1().path(path).fresh_key());
            // From "before any is answered" to "when all are".
            let firsts = kill_after(process, &requests, round % (REQUESTS.len() + 1)).await;

            process = Process::start(PROGRAM, &url).await;
            for ((request, (_, status)), first) in requests.iter().zip(REQUESTS).zip(firsts) {
                let again = process.send(request).await;
                assert_eq!(again.status, status, "{again:?}");
                if let Some(first) = first {
                    assert_replays(&first, &again);
                }
                assert_replays(&again, &process.send(request).await);
            }
            bench.assert_holds(round * REQUESTS.len(), i64::try_from(3 * round).expect("few")).await;
            assert_eq!(bench.count("audit").await, i64::try_from(round).expect("few"));
        }
        assert_eq!(
            bench
                .place
                .integer("SELECT count(*) FROM pragma_integrity_check() WHERE integrity_check <> 'ok'")
                .await,
            0
        );
    })
    .await;
}

// Cases: T-04
#[tokio::test]
async fn killed_in_the_handler_nothing_stays_and_the_retry_runs() {
    run(async |bench: &Bench<Sqlite>| {
        let url = bench.place.url();
        let slow = r1().path("/slow");
        let process = Process::start(PROGRAM, &url).await;

        let first = open(process.address, &slow).await;
        assert_ran(&process.send(&Request::new("GET", "/gate?waiting=1")).await, 204);
        process.kill().await;
        assert_eq!(first.outcome().await, None);
        bench.assert_holds(0, 0).await;
        let process = Process::start(PROGRAM, &url).await;
        assert_ran(&process.send(&Request::new("POST", "/gate")).await, 204);

        assert_ran(&process.send(&slow).await, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}
