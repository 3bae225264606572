//! Ways of duplicates that wait for the first request. All of them are described by hand.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use idem_examples::reference::Gate;
use tokio::sync::watch;

use super::{Outcomes, Setting};
use crate::database::TestDatabase;
use crate::hand::Hand;
use crate::patience::soon;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};
use crate::server::Server;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(10);

/// A handler behind a gate whose duplicates wait for so long.
fn waiting<DB: TestDatabase>(limit: Duration) -> (Hand<DB>, Gate) {
    let gate = Gate::default();
    let hand = Hand::new(|_, _| Ok(StatusCode::CREATED.into_response()));
    (hand.at_gate(&gate).described(move |operation, _| operation.wait(limit)), gate)
}

/// Counts the requests whose future is gone.
#[derive(Clone, Default)]
struct Gone(Arc<watch::Sender<usize>>);

struct Counted(Gone);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count += 1);
    }
}

impl Gone {
    async fn wait_for(&self, count: usize) {
        let mut gone = self.0.subscribe();
        soon(gone.wait_for(|gone| *gone >= count)).await.expect("the sender is here");
    }
}

async fn serve<DB: TestDatabase>(setting: &Setting<'_, DB>, hand: &Hand<DB>) -> (Server<DB>, Gone) {
    let gone = Gone::default();
    let counter = gone.clone();
    let layer = move |request: Request, next: Next| {
        let counter = counter.clone();
        async move {
            // Declared before it, so dropped after what the handler has.
            let _counted = Counted(counter);
            next.run(request).await
        }
    };
    (setting.launch().routes(hand.routes().layer(from_fn(layer))).start().await, gone)
}

pub(super) async fn for_an_answer<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let (hand, gate) = waiting(LONG);
    let (server, _) = serve(setting, &hand).await;
    let request = setting.request("waits");

    let first = server.open(&request).await;
    soon(gate.arrivals(1)).await;
    let duplicates = [server.open(&request).await, server.open(&request).await];
    hand.arrivals(3).await;
    gate.open();

    let first = first.answer().await;
    for duplicate in duplicates {
        assert_replays(&first, &duplicate.answer().await);
    }
    vec!["executed", "replayed", "replayed"]
}

pub(super) async fn in_vain<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let (hand, gate) = waiting(Duration::from_millis(100));
    let (server, _) = serve(setting, &hand).await;
    let request = setting.request("waits-in-vain");

    let first = server.open(&request).await;
    soon(gate.arrivals(1)).await;
    let duplicate = server.send(&request).await;
    gate.open();

    assert_problem(&duplicate, "idempotency_in_progress");
    assert_ran(&first.answer().await, 201);
    vec!["in_progress", "executed"]
}

pub(super) async fn in_vain_for_another_process<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let (one, gate) = waiting(LONG);
    let (two, _) = waiting(Duration::from_millis(100));
    let ((first_server, _), (second_server, _)) = (serve(setting, &one).await, serve(setting, &two).await);
    let request = setting.request("waits-elsewhere-in-vain");

    let first = first_server.open(&request).await;
    soon(gate.arrivals(1)).await;
    let duplicate = second_server.open(&request).await;
    if DB::WRITES_IN_PARALLEL {
        assert_problem(&duplicate.answer().await, "idempotency_in_progress");
        gate.open();
        assert_ran(&first.answer().await, 201);
        vec!["in_progress", "executed"]
    } else {
        // The file says who writes, not which key, so the one at its door is not told how long it takes.
        gate.open();
        assert_replays(&first.answer().await, &duplicate.answer().await);
        vec!["executed", "replayed"]
    }
}

pub(super) async fn and_leaving<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let (hand, gate) = waiting(LONG);
    let (server, gone) = serve(setting, &hand).await;
    let request = setting.request("leaves");

    let first = server.open(&request).await;
    soon(gate.arrivals(1)).await;
    let duplicate = server.open(&request).await;
    hand.arrivals(2).await;
    drop(duplicate);
    gone.wait_for(1).await;
    gate.open();

    assert_ran(&first.answer().await, 201);
    vec!["abandoned", "executed"]
}

pub(super) async fn and_leaving_another_process<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let (one, gate) = waiting(LONG);
    let (two, _) = waiting(LONG);
    let ((first_server, _), (second_server, gone)) = (serve(setting, &one).await, serve(setting, &two).await);
    let request = setting.request("leaves-elsewhere");

    let first = first_server.open(&request).await;
    soon(gate.arrivals(1)).await;
    let duplicate = second_server.open(&request).await;
    two.arrivals(1).await;
    drop(duplicate);
    gone.wait_for(1).await;
    if DB::WRITES_IN_PARALLEL {
        // Its task ends before the first does.
        assert_eq!(soon(second_server.app.idempotency.drain(LONG)).await, 0);
    }
    gate.open();

    assert_ran(&first.answer().await, 201);
    // On SQLite it is at the door of the file, where it cannot tell that its client has left.
    vec![if DB::WRITES_IN_PARALLEL { "abandoned" } else { "replayed" }, "executed"]
}
