//! Requests with one key at the same time.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::{Answer, Request, open, r1};
use crate::patience::{soon, within};
use crate::problem::assert_problem;
use crate::same::{assert_one_run, assert_ran, assert_replays};
use crate::scripted::Script;
use crate::server::Server;

/// Sends the requests all at once and waits for every answer.
async fn at_once<DB: TestDatabase>(
    server: &Server<DB>,
    requests: impl IntoIterator<Item = Request>,
) -> Vec<Answer> {
    let address = server.address;
    let mut clients = JoinSet::new();
    for request in requests {
        clients.spawn(async move { open(address, &request).await.answer().await });
    }
    soon(clients.join_all()).await
}

// Cases: C-01, Z-01
// Reports: B42
pub async fn a_duplicate_of_a_running_request_is_told_so_at_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let slow = r1().path("/slow");

    let first = server.open_up_to_the_gate(&slow).await;
    let duplicate = within(Duration::from_secs(1), server.send(&slow)).await;
    server.gate().open();
    let first = first.answer().await;

    assert_problem(&duplicate, "idempotency_in_progress");
    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&slow).await);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Cases: C-01, Z-01
// Reports: B42
pub async fn a_duplicate_in_another_process_never_runs<DB: TestDatabase>(bench: &Bench<DB>) {
    let (one, two) = (bench.start().await, bench.start().await);
    let slow = r1().path("/slow");

    let first = one.open_up_to_the_gate(&slow).await;
    let duplicate = two.open(&slow).await;
    if DB::WRITES_IN_PARALLEL {
        assert_problem(&within(Duration::from_secs(1), duplicate.answer()).await, "idempotency_in_progress");
        one.gate().open();
        assert_ran(&first.answer().await, 201);
    } else {
        // A second process cannot see who holds the file, so it waits.
        one.gate().open();
        let first = first.answer().await;
        assert_ran(&first, 201);
        assert_replays(&first, &duplicate.answer().await);
    }
    assert_eq!((one.runs(), two.runs()), (1, 0));
    bench.assert_holds(1, 1).await;
}

// Cases: C-01, C-05
// Reports: B61
pub async fn duplicates_of_a_running_request_need_no_connection<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().connections(1).start().await;
    let slow = r1().path("/slow");

    // It has the only connection.
    let first = server.open_up_to_the_gate(&slow).await;
    let duplicates = at_once(&server, vec![slow.clone(); 50]).await;
    server.gate().open();

    for duplicate in &duplicates {
        assert_problem(duplicate, "idempotency_in_progress");
    }
    assert_ran(&first.answer().await, 201);
    bench.assert_holds(1, 1).await;
}

// Cases: C-05, C-11
// Reports: B01
pub async fn a_burst_runs_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    for round in 0..5 {
        let request = r1().key(format!("\"k-{round}\""));
        assert_one_run(&at_once(&server, vec![request; 50]).await);
    }

    assert_eq!(server.runs(), 5);
    bench.assert_holds(5, 5).await;
}

// Cases: C-11
pub async fn a_double_click_is_one_order<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    for click in 0..20 {
        let request = r1().key(format!("\"k-{click}\""));
        let (first, second) = (server.open(&request).await, server.open(&request).await);
        assert_one_run(&[first.answer().await, second.answer().await]);
    }

    assert_eq!(server.runs(), 20);
    bench.assert_holds(20, 20).await;
}

// Cases: C-13
pub async fn a_crowd_on_a_completed_key_gets_replays_only<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1()).await;
    for _ in 0..5 {
        for answer in at_once(&server, vec![r1(); 20]).await {
            assert_replays(&first, &answer);
        }
    }

    assert_eq!(server.runs(), 1);
}

// Cases: C-06, Z-02
// Reports: B22
pub async fn other_keys_are_held_up_only_where_writes_are<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.open_up_to_the_gate(&r1().path("/slow")).await;
    let other = server.open(&r1().key("\"k-0002\"")).await;
    if DB::WRITES_IN_PARALLEL {
        assert_ran(&other.answer().await, 201);
        server.gate().open();
    } else {
        // One writer at a time: the other key waits for it, and is not told that it was in progress.
        server.gate().open();
        assert_ran(&other.answer().await, 201);
    }

    assert_ran(&first.answer().await, 201);
    bench.assert_holds(2, 2).await;
}

// Cases: C-07
// Reports: B48
pub async fn the_same_key_of_another_tenant_is_another_key_while_running<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let server = bench.start().await;
    let slow = r1().path("/slow");

    let first = server.open_up_to_the_gate(&slow).await;
    let other = if DB::WRITES_IN_PARALLEL {
        server.open_up_to_the_gate(&slow.tenant("t2")).await
    } else {
        server.open(&slow.tenant("t2")).await
    };
    server.gate().open();

    assert_ran(&first.answer().await, 201);
    assert_ran(&other.answer().await, 201);
    bench.assert_holds(2, 2).await;
}

// Cases: C-08
pub async fn in_progress_is_not_stored<DB: TestDatabase>(bench: &Bench<DB>) {
    let gate = idem_examples::reference::Gate::default();
    let script = Script::new(|run| match run {
        1 => panic!("the handler was told to"),
        _ => Ok(StatusCode::CREATED.into_response()),
    });
    let server = bench.server().routes(script.at_gate(&gate).routes()).start().await;

    let first = server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let duplicate = server.send(&r1()).await;
    gate.open();
    let panicked = first.outcome().await;
    let after = server.send(&r1()).await;

    assert_problem(&duplicate, "idempotency_in_progress");
    assert_eq!(panicked, None);
    assert_ran(&after, 201);
    bench.assert_holds(1, 1).await;
}

// Cases: C-15
pub async fn only_a_process_that_knows_the_first_body_refuses_another<DB: TestDatabase>(bench: &Bench<DB>) {
    let (one, two) = (bench.start().await, bench.start().await);
    let slow = r1().path("/slow");
    let other = slow.clone().body(r#"{"item":"tea","qty":2}"#);

    let first = one.open_up_to_the_gate(&slow).await;
    let (wrong, right) = (two.open(&other).await, two.open(&slow).await);
    if DB::WRITES_IN_PARALLEL {
        assert_problem(&wrong.answer().await, "idempotency_in_progress");
        assert_problem(&right.answer().await, "idempotency_in_progress");
        one.gate().open();
        assert_ran(&first.answer().await, 201);
    } else {
        one.gate().open();
        let first = first.answer().await;
        assert_problem(&wrong.answer().await, "idempotency_key_reused");
        assert_replays(&first, &right.answer().await);
    }
    assert_eq!(two.runs(), 0);
    bench.assert_holds(1, 1).await;
}
