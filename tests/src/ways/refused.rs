//! Ways of requests that are refused before their handler runs.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, Probe, TenantId};
use idem_runtime::{Guard, idempotent};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use sqlx::Transaction;

use super::{Outcomes, Setting};
use crate::database::{Place as _, TestDatabase};
use crate::problem::{assert_key_invalid, assert_problem};
use crate::same::{assert_ran, assert_replays};

const OTHER_BODY: &str = r#"{"item":"tea","qty":2}"#;

pub(super) async fn without_a_key_or_with_none_that_is_valid<DB: TestDatabase>(
    setting: &Setting<'_, DB>,
) -> Outcomes {
    let server = setting.launch().start().await;
    let request = setting.request("rejected");

    assert_problem(
        &server.send(&request.clone().without("Idempotency-Key")).await,
        "idempotency_key_missing",
    );
    let unfinished = request.clone().key(format!("\"{}", setting.key));
    assert_key_invalid(&server.send(&unfinished).await, "syntax");
    let twice = request.field("Idempotency-Key", setting.key);
    assert_key_invalid(&server.send(&twice).await, "multiple");
    vec!["rejected", "rejected", "rejected"]
}

pub(super) async fn while_the_first_runs<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let server = setting.launch().start().await;
    let slow = setting.request("running").path("/slow");

    let first = server.open_up_to_the_gate(&slow).await;
    let duplicate = server.send(&slow).await;
    let other = server.send(&slow.body(OTHER_BODY)).await;
    server.gate().open();

    assert_problem(&duplicate, "idempotency_in_progress");
    assert_problem(&other, "idempotency_key_reused");
    assert_ran(&first.answer().await, 201);
    vec!["in_progress", "mismatch", "executed"]
}

pub(super) async fn while_another_process_runs<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let (one, two) = (setting.launch().start().await, setting.launch().start().await);
    let slow = setting.request("running-elsewhere").path("/slow");

    let first = one.open_up_to_the_gate(&slow).await;
    let duplicate = two.open(&slow).await;
    if DB::WRITES_IN_PARALLEL {
        assert_problem(&duplicate.answer().await, "idempotency_in_progress");
        one.gate().open();
        assert_ran(&first.answer().await, 201);
        vec!["in_progress", "executed"]
    } else {
        // A second process cannot see who holds the file, so it waits.
        one.gate().open();
        assert_replays(&first.answer().await, &duplicate.answer().await);
        vec!["executed", "replayed"]
    }
}

pub(super) async fn for_want_of_a_connection<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let limit = Duration::from_millis(100);
    let launch = setting.launch().connections(1);
    let server = launch.engine(move |builder| builder.acquire_timeout(limit)).start().await;

    let first = server.open_up_to_the_gate(&setting.request("connected").path("/slow")).await;
    let refused = server.send(&setting.request("unconnected")).await;
    server.gate().open();

    assert_problem(&refused, "idempotency_store_unavailable");
    assert_ran(&first.answer().await, 201);
    vec!["store_unavailable", "executed"]
}

pub(super) async fn for_want_of_a_database<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let server = setting.launch().start().await;

    server.app.writer.close().await;
    server.app.reader.close().await;

    assert_problem(&server.send(&setting.request("gone")).await, "idempotency_store_unavailable");
    vec!["store_unavailable"]
}

pub(super) async fn for_want_of_a_table<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let launch = setting.launch().engine(|builder| builder.table("no_such_keys"));
    let server = launch.unmigrated().start().await;

    assert_problem(&server.send(&setting.request("tableless")).await, "idempotency_store_misconfigured");
    vec!["store_misconfigured"]
}

pub(super) async fn while_draining<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let server = setting.launch().start().await;

    server.app.idempotency.drain(Duration::from_secs(5)).await;

    assert_problem(&server.send(&setting.request("drained")).await, "idempotency_store_unavailable");
    vec!["store_unavailable"]
}

/// Says nothing of what the key is unique within.
async fn without_scope<DB: TestDatabase>(guard: Guard<DB>, State(probe): State<Probe>) -> Response {
    let work = guard.by_hand().run(move |_, _| {
        probe.ran();
        Box::pin(async { Ok::<_, StatusCode>(StatusCode::CREATED) })
    });
    work.await
}

pub(super) async fn without_a_scope<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let routes = Router::<App<DB>>::new().route("/orders", post(without_scope::<DB>));
    let server = setting.launch().routes(routes).start().await;

    assert_problem(&server.send(&setting.request("scopeless")).await, "idempotency_scope_unresolved");
    vec!["scope_unresolved"]
}

/// A payload that cannot be written, and says the key where it says why.
#[derive(Deserialize)]
struct Unwritable {
    item: String,
}

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom(format!("`{}` is not to be written", self.item)))
    }
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn reads<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(_unwritable): Json<Unwritable>,
) -> StatusCode {
    StatusCode::CREATED
}

pub(super) async fn without_a_canonical_form<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let routes = Router::<App<DB>>::new().route("/orders", post(reads::<DB>));
    let server = setting.launch().routes(routes).start().await;
    let request = setting.request("unwritable").body(format!(r#"{{"item":"{}"}}"#, setting.key));

    assert_problem(&server.send(&request).await, "idempotency_fingerprint_failed");
    vec!["fingerprint_failed"]
}

pub(super) async fn under_the_id_of_another<DB: TestDatabase>(setting: &Setting<'_, DB>) -> Outcomes {
    let server = setting.launch().start().await;
    let request = setting.request("collides");
    assert_ran(&server.send(&request).await, 201);

    let (place, table) = (&setting.bench.place, setting.bench.place.key_table());
    place.execute(&format!("UPDATE {table} SET key = 'another' WHERE scope LIKE 'tenant=collides&%'")).await;

    assert_problem(&server.send(&request).await, "idempotency_key_reused");
    vec!["executed", "mismatch"]
}
