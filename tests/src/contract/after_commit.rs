//! What a handler queues for after its COMMIT.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use idem_runtime::{Execution, KeepWrites};
use tokio::sync::watch;

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::hand::Hand;
use crate::http::r1;
use crate::patience::soon;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Outcome;
use crate::server::Server;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(20);

/// How often queued work was done, and how many orders others saw at that time.
#[derive(Clone, Debug, Default)]
struct Done(Arc<watch::Sender<Vec<i64>>>);

impl Done {
    fn times(&self) -> usize {
        self.0.borrow().len()
    }
}

/// A handler that queues work, and then answers.
fn queuing<DB: TestDatabase>(
    place: &DB::Place,
    done: &Done,
    answers: impl Fn(usize) -> Outcome + Send + Sync + 'static,
) -> Hand<DB> {
    let (place, done) = (place.clone(), done.clone());
    Hand::new(move |run, execution: &Execution| {
        let (place, done) = (place.clone(), done.clone());
        execution.after_commit(async move {
            let orders = place.integer("SELECT count(*) FROM orders").await;
            done.0.send_modify(|seen| seen.push(orders));
        });
        answers(run)
    })
}

async fn serve<DB: TestDatabase>(bench: &Bench<DB>, hand: &Hand<DB>) -> Server<DB> {
    bench.server().routes(hand.routes()).start().await
}

/// Waits for everything that runs, so that nothing is done any more.
async fn end<DB: TestDatabase>(server: &Server<DB>) {
    assert_eq!(soon(server.app.idempotency.drain(LONG)).await, 0);
}

// Cases: A-01
pub async fn queued_work_is_done_once_after_commit<DB: TestDatabase>(bench: &Bench<DB>) {
    let done = Done::default();
    let hand = queuing(&bench.place, &done, |_| Ok(StatusCode::CREATED.into_response()));
    let server = serve(bench, &hand).await;

    let first = server.send(&r1()).await;
    let replay = server.send(&r1()).await;
    end(&server).await;

    assert_ran(&first, 201);
    assert_replays(&first, &replay);
    assert_eq!(*done.0.borrow(), [1], "once, when the order was there for others");
}

// Cases: A-01
pub async fn queued_work_is_not_done_when_the_run_fails<DB: TestDatabase>(bench: &Bench<DB>) {
    let done = Done::default();
    let hand = queuing(&bench.place, &done, |run| match run {
        1 => Err(StatusCode::CONFLICT.into_response()),
        2 => Ok(StatusCode::SERVICE_UNAVAILABLE.into_response()),
        _ => panic!("the handler was told to"),
    });
    let server = serve(bench, &hand).await;

    assert_ran(&server.send(&r1().fresh_key()).await, 409);
    assert_ran(&server.send(&r1().fresh_key()).await, 503);
    assert_eq!(server.open(&r1().fresh_key()).await.outcome().await, None);
    end(&server).await;

    assert_eq!(hand.runs(), 3);
    assert_eq!(done.times(), 0);
}

// Cases: A-01
// Reports: B35
pub async fn queued_work_is_not_done_when_the_commit_fails<DB: TestDatabase>(bench: &Bench<DB>) {
    let done = Done::default();
    let hand = queuing(&bench.place, &done, |_| Ok(StatusCode::CREATED.into_response()));
    let server = serve(bench, &hand).await;
    refuse_commits(bench).await;

    let answer = server.send(&r1()).await;
    end(&server).await;

    assert_problem(&answer, "idempotency_commit_rejected");
    assert_eq!(hand.runs(), 1);
    assert_eq!(done.times(), 0);
}

/// Has every order refer to what is not there, which is noticed at COMMIT.
async fn refuse_commits<DB: TestDatabase>(bench: &Bench<DB>) {
    bench.place.execute("CREATE TABLE parents (id bigint PRIMARY KEY)").await;
    let orders = "ALTER TABLE orders ADD COLUMN parent bigint DEFAULT 42";
    if DB::ERRORS_ABORT {
        let reference = "REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED";
        bench.place.execute(&format!("{orders} {reference}")).await;
    } else {
        // SQLite adds no column with a reference and a default, so a trigger writes it.
        let child =
            "CREATE TABLE children (parent bigint REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)";
        bench.place.execute(child).await;
        let trigger =
            "CREATE TRIGGER orphan AFTER INSERT ON orders BEGIN INSERT INTO children VALUES (42); END";
        bench.place.execute(trigger).await;
    }
}

// Cases: A-01
pub async fn queued_work_is_done_where_the_writes_are_kept<DB: TestDatabase>(bench: &Bench<DB>) {
    let done = Done::default();
    let hand = queuing(&bench.place, &done, |_| {
        Err((StatusCode::PAYMENT_REQUIRED, KeepWrites, "declined").into_response())
    });
    let server = serve(bench, &hand).await;

    assert_ran(&server.send(&r1()).await, 402);
    end(&server).await;

    assert_eq!(*done.0.borrow(), [1]);
}

// Cases: A-01
pub async fn queued_work_is_done_without_a_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let done = Done::default();
    let hand = queuing(&bench.place, &done, |_| Ok(StatusCode::CREATED.into_response()))
        .described(|operation, _| operation.required(false));
    let server = serve(bench, &hand).await;

    assert_ran(&server.send(&r1().without("Idempotency-Key")).await, 201);
    end(&server).await;

    assert_eq!(*done.0.borrow(), [1]);
}

// Cases: A-01
pub async fn a_drain_waits_for_queued_work<DB: TestDatabase>(bench: &Bench<DB>) {
    let gate = idem_examples::reference::Gate::default();
    let passing = gate.clone();
    let hand = Hand::new(move |_, execution| {
        let gate = passing.clone();
        execution.after_commit(async move { gate.pass().await });
        execution.after_commit(async { panic!("the queued work was told to") });
        Ok(StatusCode::CREATED.into_response())
    });
    let server = serve(bench, &hand).await;

    let first = server.send(&r1()).await;
    soon(gate.arrivals(1)).await;
    let mut drain = Box::pin(server.app.idempotency.drain(LONG));
    assert!(tokio::time::timeout(Duration::ZERO, &mut drain).await.is_err(), "it waits for the queued work");
    gate.open();

    assert_ran(&first, 201);
    assert_eq!(soon(drain).await, 0);
}
