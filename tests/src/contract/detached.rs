//! The work goes on when its client does not wait for it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::patience::soon;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};

// Cases: T-08
// Reports: B45
pub async fn a_client_that_hangs_up_does_not_stop_the_work<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let slow = r1().path("/slow");

    drop(server.open_up_to_the_gate(&slow).await);
    // Axum notices the end of the connection when it next reads from it; this answer is after that.
    assert_problem(&server.send(&slow).await, "idempotency_in_progress");
    server.gate().open();
    let answer = server.retry(&slow).await;

    assert_eq!(answer.status, 201);
    assert!(answer.is_replay());
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Cases: T-08
pub async fn a_client_that_half_closes_does_not_stop_the_work<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let slow = r1().path("/slow");

    let mut first = server.open_up_to_the_gate(&slow).await;
    first.half_close().await;
    let gone = first.outcome().await;
    server.gate().open();
    let answer = server.retry(&slow).await;

    assert_eq!(gone, None, "hyper gives up a connection that is half closed");
    assert_eq!(answer.status, 201);
    assert!(answer.is_replay());
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Cases: T-09
// Reports: B45
pub async fn clients_that_hang_up_at_any_moment_find_their_answer<DB: TestDatabase>(bench: &Bench<DB>) {
    const ROUNDS: i64 = 500;
    let server = bench.server().connections(5).start().await;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;

    for round in 0..ROUNDS {
        let request = r1().key(format!("\"k-{round}\""));
        let pending = server.open(&request).await;
        // A moment between nothing and the usual length of a request, which is a few milliseconds.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sleep(Duration::from_micros((random >> 33) % 6000)).await;
        drop(pending);

        let answer = server.retry(&request).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        // The answer names an order that is there, the only one of its key.
        bench.assert_newest_order(answer.id(), round + 1).await;
    }

    bench.assert_holds(500, 500).await;
    assert_eq!(server.runs(), 500);
}

// Cases: T-16
// Reports: B18
pub async fn a_time_out_layer_ends_the_wait_and_not_the_work<DB: TestDatabase>(bench: &Bench<DB>) {
    let deadline = Arc::new(Notify::new());
    let clock = Arc::clone(&deadline);
    let layer = move |request: extract::Request, next: Next| {
        let deadline = Arc::clone(&clock);
        async move {
            tokio::select! {
                biased;
                response = next.run(request) => response,
                () = deadline.notified() => StatusCode::REQUEST_TIMEOUT.into_response(),
            }
        }
    };
    let server = bench.server().wrap(|router| router.layer(from_fn(layer))).start().await;
    let slow = r1().path("/slow");

    let first = server.open_up_to_the_gate(&slow).await;
    deadline.notify_one();
    let timed_out = first.answer().await;
    let meanwhile = server.send(&slow).await;
    server.gate().open();
    let answer = server.retry(&slow).await;

    assert_ran(&timed_out, 408);
    assert_problem(&meanwhile, "idempotency_in_progress");
    assert_eq!(answer.status, 201);
    assert!(answer.is_replay());
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Cases: T-20
pub async fn a_drain_waits_for_the_work<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let slow = r1().path("/slow");
    let first = server.open_up_to_the_gate(&slow).await;

    let idempotency = server.app.idempotency.clone();
    let mut drain = Box::pin(idempotency.drain(Duration::from_secs(20)));
    // Its first poll shuts the door.
    assert!(tokio::time::timeout(Duration::ZERO, &mut drain).await.is_err(), "it waits for the first run");
    let refused = server.send(&r1()).await;
    server.gate().open();
    let dropped = soon(drain).await;

    assert_problem(&refused, "idempotency_store_unavailable");
    assert_eq!(dropped, 0);
    assert_ran(&first.answer().await, 201);
    bench.assert_holds(1, 1).await;
}

// Cases: T-20
pub async fn a_drain_that_has_waited_long_enough_drops_the_work<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let slow = r1().path("/slow");
    let first = server.open_up_to_the_gate(&slow).await;

    let dropped = soon(server.app.idempotency.drain(Duration::from_millis(50))).await;

    assert_eq!(dropped, 1);
    assert_problem(&first.answer().await, "idempotency_outcome_unknown");
    bench.assert_holds(0, 0).await;
    let after = bench.start().await;
    after.gate().open();
    assert_ran(&after.send(&slow).await, 201);
}

// Cases: T-28
pub async fn a_handler_that_never_returns_is_ended<DB: TestDatabase>(bench: &Bench<DB>) {
    let limit = Duration::from_secs(1);
    let server = bench.server().engine(move |builder| builder.run_limit(limit)).start().await;
    let slow = r1().path("/slow");
    let begun = Instant::now();

    let answer = server.send(&slow).await;

    assert_problem(&answer, "idempotency_transient");
    assert!(begun.elapsed() >= limit, "{:?}", begun.elapsed());
    assert_eq!(server.gate().waiting(), 0, "the handler's future is dropped");
    bench.assert_holds(0, 0).await;
    server.gate().open();
    let first = server.send(&slow).await;
    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&slow).await);
    bench.assert_holds(1, 1).await;
}
