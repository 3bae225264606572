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

/// Something that is counted, and waited for.
#[derive(Clone, Default)]
struct Count(Arc<watch::Sender<usize>>);

impl Count {
    fn add_one(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    async fn wait_for(&self, count: usize) {
        let mut counted = self.0.subscribe();
        soon(counted.wait_for(|counted| *counted >= count)).await.expect("the sender is here");
    }
}

/// Counted when it is dropped.
struct Counted(Count);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.add_one();
    }
}

/// A server, and what is known of its requests.
struct Served<DB: TestDatabase> {
    server: Server<DB>,
    /// The requests that have a task.
    tasks: Count,
    /// The requests whose future is gone.
    gone: Count,
}

async fn serve<DB: TestDatabase>(setting: &Setting<'_, DB>, hand: &Hand<DB>) -> Served<DB> {
    let (tasks, gone) = (Count::default(), Count::default());
    let counter = gone.clone();
    let layer = move |request: Request, next: Next| {
        let counter = counter.clone();
        async move {
            // Declared before it, so dropped after what the handler has.
            let _counted = Counted(counter);
            next.run(request).await
        }
    };
    let counter = tasks.clone();
    let wrap = move |task| {
        counter.add_one();
        task
    };
    let launch = setting.launch().engine(|builder| builder.wrap_tasks(wrap));
    let server = launch.routes(hand.routes().layer(from_fn(layer))).start().await;
    Served { server, tasks, gone }
}

pub(super) async fn for_an_answer<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let (hand, gate) = waiting(LONG);
    let Served { server, .. } = serve(setting, &hand).await;
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
    let Served { server, .. } = serve(setting, &hand).await;
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
    let (first_process, second_process) = (serve(setting, &one).await, serve(setting, &two).await);
    let (first_server, second_server) = (first_process.server, second_process.server);
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
    let Served { server, gone, .. } = serve(setting, &hand).await;
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
    let first_server = serve(setting, &one).await.server;
    let Served { server: second_server, tasks, gone } = serve(setting, &two).await;
    let request = setting.request("leaves-elsewhere");

    let first = first_server.open(&request).await;
    soon(gate.arrivals(1)).await;
    let duplicate = second_server.open(&request).await;
    // In its task, which waits for the other process: on SQLite at the door of the file.
    tasks.wait_for(1).await;
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
