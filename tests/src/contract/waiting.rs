//! Duplicates that wait for the first request instead of being told of it.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, Gate, NewOrder, Probe, TenantId, insert_order};
use idem_runtime::{Execution, idempotent};
use sqlx::Transaction;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::hand::Hand;
use crate::http::{Answer, Pending, Request, r1};
use crate::patience::{eventually, soon, within};
use crate::problem::{assert_in_progress, assert_problem};
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Outcome;
use crate::server::Server;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(10);

/// A run that creates.
#[expect(clippy::unnecessary_wraps, reason = "a `Hand` asks for it")]
fn created(_: usize, _: &Execution) -> Outcome {
    Ok(StatusCode::CREATED.into_response())
}

/// Panics in its first run, and creates in the others.
fn panics_first(run: usize, execution: &Execution) -> Outcome {
    assert_ne!(run, 1, "the handler was told to");
    created(run, execution)
}

/// A handler behind a gate whose duplicates wait for so long.
fn waiting<DB: TestDatabase>(
    limit: Duration,
    answers: impl Fn(usize, &Execution) -> Outcome + Send + Sync + 'static,
) -> (Hand<DB>, Gate) {
    let gate = Gate::default();
    let hand = Hand::new(answers).at_gate(&gate).described(move |operation, _| operation.wait(limit));
    (hand, gate)
}

async fn serve<DB: TestDatabase>(bench: &Bench<DB>, hand: &Hand<DB>) -> Server<DB> {
    bench.server().routes(hand.routes()).start().await
}

/// Sends so many duplicates of R1, and waits until the engine has them all, behind so many others.
async fn queue<DB: TestDatabase>(
    server: &Server<DB>,
    hand: &Hand<DB>,
    count: usize,
    already: usize,
) -> Vec<Pending> {
    let mut duplicates = Vec::new();
    for _ in 0..count {
        duplicates.push(server.open(&r1()).await);
    }
    hand.arrivals(already + count).await;
    duplicates
}

async fn answers(duplicates: Vec<Pending>) -> Vec<Answer> {
    let duplicates = duplicates.into_iter().map(Pending::answer).collect::<JoinSet<_>>();
    soon(duplicates.join_all()).await
}

// Cases: C-02
pub async fn a_duplicate_waits_and_gets_the_first_answer<DB: TestDatabase>(bench: &Bench<DB>) {
    let (hand, gate) = waiting(LONG, created);
    let server = serve(bench, &hand).await;

    let first = server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let duplicates = queue(&server, &hand, 3, 1).await;
    gate.open();
    let first = first.answer().await;

    assert_ran(&first, 201);
    for duplicate in answers(duplicates).await {
        assert_replays(&first, &duplicate);
    }
    assert_eq!(hand.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Cases: C-03
pub async fn a_duplicate_waits_and_gets_the_first_error<DB: TestDatabase>(bench: &Bench<DB>) {
    let (hand, gate) = waiting(LONG, |_, _| Err((StatusCode::CONFLICT, "sold out").into_response()));
    let server = serve(bench, &hand).await;

    let first = server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let duplicates = queue(&server, &hand, 3, 1).await;
    gate.open();
    let first = first.answer().await;

    assert_ran(&first, 409);
    for duplicate in answers(duplicates).await {
        assert_replays(&first, &duplicate);
    }
    assert_eq!(hand.runs(), 1);
    bench.assert_holds(1, 0).await;
}

// Cases: C-03
pub async fn one_of_those_who_wait_runs_when_the_first_leaves_nothing<DB: TestDatabase>(bench: &Bench<DB>) {
    let (hand, gate) = waiting(LONG, panics_first);
    let server = serve(bench, &hand).await;

    let first = server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let duplicates = queue(&server, &hand, 10, 1).await;
    gate.open();

    assert_eq!(first.outcome().await, None, "the panic closes the connection");
    let answers = answers(duplicates).await;
    let (replays, runs): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.is_replay());
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_ran(runs[0], 201);
    for replay in replays {
        assert_replays(runs[0], replay);
    }
    assert_eq!(hand.runs(), 2);
    bench.assert_holds(1, 1).await;
}

// Cases: C-04
pub async fn a_wait_that_runs_out_is_told_so<DB: TestDatabase>(bench: &Bench<DB>) {
    let limit = Duration::from_millis(200);
    let (hand, gate) = waiting(limit, created);
    let server = serve(bench, &hand).await;

    let first = server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let begun = Instant::now();
    let duplicate = server.send(&r1()).await;
    let waited = begun.elapsed();
    gate.open();

    assert_problem(&duplicate, "idempotency_in_progress");
    assert!(waited >= limit && waited < Duration::from_secs(2), "{waited:?}");
    assert_ran(&first.answer().await, 201);
    assert_eq!(hand.runs(), 1);
}

// Cases: C-04
pub async fn a_sender_of_events_is_told_503_when_the_wait_runs_out<DB: TestDatabase>(bench: &Bench<DB>) {
    let gate = Gate::default();
    let hand = Hand::new(created)
        .at_gate(&gate)
        .described(|operation, _| operation.wait_or_unavailable(Duration::from_millis(20)));
    let server = serve(bench, &hand).await;

    let first = server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let duplicate = server.send(&r1()).await;
    gate.open();

    assert_in_progress(&duplicate, 503);
    assert_ran(&first.answer().await, 201);
}

// Cases: F-01
pub async fn another_body_does_not_wait<DB: TestDatabase>(bench: &Bench<DB>) {
    let (hand, gate) = waiting(LONG, created);
    let server = serve(bench, &hand).await;

    let first = server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let other = r1().body(r#"{"item":"tea","qty":2}"#);
    let other = within(Duration::from_secs(2), server.send(&other)).await;
    gate.open();

    assert_problem(&other, "idempotency_key_reused");
    assert_ran(&first.answer().await, 201);
}

#[idempotent(scope = "tenant,endpoint", in_progress = "wait 10s, then 503")]
async fn annotated<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    probe.gate.pass().await;
    Ok(StatusCode::CREATED)
}

// Cases: C-02
pub async fn a_duplicate_of_an_annotated_handler_waits<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/orders", post(annotated::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.open_up_to_the_gate(&r1()).await;
    let duplicate = server.open(&r1()).await;
    // Sent after the duplicate, and answered while that one waits.
    let other = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;
    server.gate().open();
    let first = first.answer().await;

    assert_problem(&other, "idempotency_key_reused");
    assert_ran(&first, 201);
    assert_replays(&first, &duplicate.answer().await);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

/// A server of its own for one process, with a read beside it.
async fn crowded<DB: TestDatabase>(bench: &Bench<DB>, hand: &Hand<DB>) -> Server<DB> {
    let routes = hand.routes().route("/free", get(async || "free"));
    bench.server().connections(5).routes(routes).start().await
}

/// How many connections of the pool are in use.
fn in_use<DB: TestDatabase>(server: &Server<DB>) -> usize {
    let pool = &server.app.writer;
    pool.size() as usize - pool.num_idle()
}

/// Asserts that at most so many connections of the pool are in use.
#[track_caller]
fn assert_in_use<DB: TestDatabase>(server: &Server<DB>, most: usize) {
    let in_use = in_use(server);
    assert!(in_use <= most, "{in_use} connections are in use");
}

// Cases: C-10
pub async fn a_crowd_that_waits_holds_no_connection<DB: TestDatabase>(bench: &Bench<DB>) {
    let (hand, gate) = waiting(LONG, created);
    let server = crowded(bench, &hand).await;

    let first = server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let mut duplicates = queue(&server, &hand, 200, 1).await;
    // Those of the server's start are on their way back.
    eventually(async || in_use(&server) <= 1).await;
    for _ in 0..20 {
        assert_in_use(&server, 1);
        assert_eq!(
            within(Duration::from_secs(1), server.send(&Request::new("GET", "/free"))).await.status,
            200
        );
    }
    // Half of them hang up.
    duplicates.truncate(100);
    assert_in_use(&server, 1);
    gate.open();
    let first = first.answer().await;

    assert_ran(&first, 201);
    for duplicate in answers(duplicates).await {
        assert_replays(&first, &duplicate);
    }
    assert_eq!(hand.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Cases: C-02, Z-01
pub async fn a_duplicate_waits_for_another_process<DB: TestDatabase>(bench: &Bench<DB>) {
    let (one, gate) = waiting(LONG, created);
    let (two, _) = waiting(LONG, created);
    let (first_server, second_server) = (serve(bench, &one).await, serve(bench, &two).await);

    let first = first_server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let duplicates = queue(&second_server, &two, 5, 0).await;
    gate.open();
    let first = first.answer().await;

    assert_ran(&first, 201);
    for duplicate in answers(duplicates).await {
        assert_replays(&first, &duplicate);
    }
    assert_eq!((one.runs(), two.runs()), (1, 0));
    bench.assert_holds(1, 1).await;
}

// Cases: C-03
pub async fn a_duplicate_runs_when_another_process_leaves_nothing<DB: TestDatabase>(bench: &Bench<DB>) {
    let (one, gate) = waiting(LONG, panics_first);
    let (two, other_gate) = waiting(LONG, created);
    other_gate.open();
    let (first_server, second_server) = (serve(bench, &one).await, serve(bench, &two).await);

    let first = first_server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let duplicates = queue(&second_server, &two, 5, 0).await;
    gate.open();

    assert_eq!(first.outcome().await, None);
    let answers = answers(duplicates).await;
    assert_eq!(answers.iter().filter(|answer| !answer.is_replay()).count(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| answer.status == 201), "{answers:?}");
    assert_eq!((one.runs(), two.runs()), (1, 1));
    bench.assert_holds(1, 1).await;
}

// Cases: C-04, C-10
pub async fn a_crowd_that_waits_for_another_process_holds_one_connection<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let (one, gate) = waiting(LONG, created);
    let (two, _) = waiting(Duration::from_millis(500), created);
    let (first_server, second_server) = (serve(bench, &one).await, crowded(bench, &two).await);

    let first = first_server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let duplicates = queue(&second_server, &two, 50, 0).await;
    if DB::WRITES_IN_PARALLEL {
        let duplicates = tokio::spawn(answers(duplicates));
        while !duplicates.is_finished() {
            // One in use, and one that sqlx is still taking back.
            assert_in_use(&second_server, 2);
            tokio::task::yield_now().await;
        }
        for duplicate in soon(duplicates).await.expect("every duplicate is answered") {
            assert_problem(&duplicate, "idempotency_in_progress");
        }
        gate.open();
    } else {
        // The file says who writes, not which key, so the one at its door is not told how long it takes.
        assert_in_use(&second_server, 1);
        gate.open();
        drop(duplicates);
    }

    assert_ran(&first.answer().await, 201);
    assert_eq!(two.runs(), 0);
    bench.assert_holds(1, 1).await;
}

// Cases: C-04
pub async fn a_wait_may_be_longer_than_the_time_for_a_connection<DB: TestDatabase>(bench: &Bench<DB>) {
    let limit = Duration::from_millis(1500);
    let (one, gate) = waiting(LONG, created);
    let (two, _) = waiting(limit, created);
    let first_server = serve(bench, &one).await;
    let second_server = bench
        .server()
        .engine(|builder| builder.acquire_timeout(Duration::from_secs(1)))
        .routes(two.routes())
        .start()
        .await;

    let first = first_server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    if DB::WRITES_IN_PARALLEL {
        let begun = Instant::now();
        let duplicates = queue(&second_server, &two, 3, 0).await;
        for duplicate in answers(duplicates).await {
            assert_problem(&duplicate, "idempotency_in_progress");
        }
        assert!(begun.elapsed() >= limit, "{:?}", begun.elapsed());
    } else {
        // It waits for the file, as long as for a connection.
        assert_problem(&second_server.send(&r1()).await, "idempotency_store_unavailable");
    }
    gate.open();

    assert_ran(&first.answer().await, 201);
    assert_eq!(two.runs(), 0);
    bench.assert_holds(1, 1).await;
}

// Cases: C-01, C-15
pub async fn who_does_not_wait_is_told_so_behind_one_who_does<DB: TestDatabase>(bench: &Bench<DB>) {
    let (one, gate) = waiting(LONG, created);
    let (two, _) = waiting(LONG, created);
    let two = two.described(|operation, order| if order.qty == 1 { operation.wait(LONG) } else { operation });
    let (first_server, second_server) = (serve(bench, &one).await, serve(bench, &two).await);

    let first = first_server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let duplicates = queue(&second_server, &two, 1, 0).await;
    if DB::WRITES_IN_PARALLEL {
        // Of another body, but nobody here knows that of the first.
        let impatient = r1().body(r#"{"item":"tea","qty":2}"#);
        let impatient = within(Duration::from_secs(2), second_server.send(&impatient)).await;
        assert_problem(&impatient, "idempotency_in_progress");
    }
    gate.open();
    let first = first.answer().await;

    assert_ran(&first, 201);
    for duplicate in answers(duplicates).await {
        assert_replays(&first, &duplicate);
    }
    assert_eq!((one.runs(), two.runs()), (1, 0));
}

// Cases: C-10
pub async fn a_drain_ends_the_wait_for_another_process<DB: TestDatabase>(bench: &Bench<DB>) {
    let (one, gate) = waiting(LONG, created);
    let (two, _) = waiting(LONG, created);
    let (first_server, second_server) = (serve(bench, &one).await, serve(bench, &two).await);

    let first = first_server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let duplicates = queue(&second_server, &two, 5, 0).await;
    if DB::WRITES_IN_PARALLEL {
        let dropped = within(Duration::from_secs(3), second_server.app.idempotency.drain(LONG)).await;
        assert_eq!(dropped, 0);
        for duplicate in answers(duplicates).await {
            assert_problem(&duplicate, "idempotency_in_progress");
        }
    }
    gate.open();

    assert_ran(&first.answer().await, 201);
    assert_eq!(two.runs(), 0);
}
