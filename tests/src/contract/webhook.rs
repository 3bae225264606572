//! Webhooks: an event that is delivered again and again has its effect once.
//!
//! Signatures are the example's, in `tests/tests/webhooks.rs`.

use std::future::{Future, ready};
use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::{any, post};
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, Probe, Value, routes};
use idem_runtime::{KeyFormat, Policy, ScopeValue, Syntax, Webhook, idempotent};
use serde::{Deserialize, Serialize};
use serde_json::{Value as JsonValue, json};
use sqlx::Transaction;
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::database::{KeyRow, TestDatabase};
use crate::http::{Pending, Request, r1};
use crate::patience::{eventually, soon, within};
use crate::problem::{assert_key_invalid, assert_refusal};
use crate::same::{assert_ran, assert_replays};
use crate::server::Server;

/// In seconds.
const DAY: i64 = 86_400;

/// The effect of an event: a row.
async fn note<DB: TestDatabase>(connection: &mut DB::Connection, text: &str) -> Result<(), AppError> {
    let sql = "INSERT INTO audit (tenant, note) VALUES ('sender', $1)";
    DB::execute(connection, sql, &[Value::Text(text)]).await?;
    Ok(())
}

/// Asserts how many key rows there are, each with an answer, and how many effects.
async fn assert_effects<DB: TestDatabase>(bench: &Bench<DB>, completed_keys: usize, effects: i64) {
    let rows = bench.key_rows().await;
    assert_eq!(rows.len(), completed_keys, "{rows:?}");
    assert!(rows.iter().all(KeyRow::is_completed), "{rows:?}");
    assert_eq!(bench.count("audit").await, effects, "effects");
}

/// An event with its id in it.
#[derive(Deserialize, Serialize)]
struct Event {
    id: String,
    /// How often it was sent before.
    attempt: u32,
}

fn event(id: &str, attempt: u32) -> Request {
    Request::new("POST", "/events")
        .field("Content-Type", "application/json")
        .body(json!({ "id": id, "attempt": attempt }).to_string())
}

#[idempotent(policy = Webhook, key = "event.id")]
async fn receive<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    State(probe): State<Probe>,
    Json(event): Json<Event>,
) -> Result<Json<JsonValue>, AppError> {
    probe.ran();
    note::<DB>(&mut *tx, &event.id).await?;
    Ok(Json(json!({ "received": event.attempt })))
}

/// The same, behind the gate.
#[idempotent(policy = Webhook, key = "event.id")]
async fn receive_slowly<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    State(probe): State<Probe>,
    Json(event): Json<Event>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    note::<DB>(&mut *tx, &event.id).await?;
    probe.gate.pass().await;
    Ok(StatusCode::OK)
}

async fn start<DB: TestDatabase>(bench: &Bench<DB>, routes: Router<App<DB>>) -> Server<DB> {
    bench.server().routes(routes).start().await
}

fn events<DB: TestDatabase>() -> Router<App<DB>> {
    Router::new().route("/events", post(receive::<DB>))
}

// Cases: W-01, W-13
pub async fn a_duplicate_event_is_answered_without_a_run<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, events()).await;

    let first = server.send(&event("evt_1", 0)).await;
    let again = server.send(&event("evt_1", 0)).await;
    let other = server.send(&event("evt_2", 0)).await;

    assert_ran(&first, 200);
    assert_replays(&first, &again);
    assert_ran(&other, 200);
    assert_eq!(server.runs(), 2);
    assert_effects(bench, 2, 2).await;
}

/// Fails in every way before it succeeds.
#[idempotent(policy = Webhook, key = "event.id")]
async fn receive_at_last<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    State(probe): State<Probe>,
    Json(event): Json<Event>,
) -> Result<StatusCode, StatusCode> {
    probe.ran();
    note::<DB>(&mut *tx, &event.id).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    match probe.runs() {
        1 => Err(StatusCode::INTERNAL_SERVER_ERROR),
        2 => Err(StatusCode::UNPROCESSABLE_ENTITY),
        3 => Ok(StatusCode::INTERNAL_SERVER_ERROR),
        4 => Ok(StatusCode::CONFLICT),
        5 => panic!("the fifth run was told to"),
        _ => Ok(StatusCode::OK),
    }
}

// Cases: W-02
// Reports: B46
pub async fn an_event_that_failed_is_handled_when_it_is_delivered_again<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/events", post(receive_at_last::<DB>))).await;

    for failure in [500, 422, 500, 409] {
        assert_ran(&server.send(&event("evt_1", 0)).await, failure);
        assert_effects(bench, 0, 0).await;
    }
    assert_eq!(
        server.open(&event("evt_1", 0)).await.outcome().await,
        None,
        "the panic closes the connection"
    );
    assert_effects(bench, 0, 0).await;
    let handled = server.send(&event("evt_1", 0)).await;

    assert_ran(&handled, 200);
    assert_replays(&handled, &server.send(&event("evt_1", 0)).await);
    assert_eq!(server.runs(), 6);
    assert_effects(bench, 1, 1).await;
}

// Cases: W-03
pub async fn ten_deliveries_at_once_have_one_effect<DB: TestDatabase>(bench: &Bench<DB>) {
    let slow = || Router::new().route("/events", post(receive_slowly::<DB>));
    let servers = [start(bench, slow()).await, start(bench, slow()).await];

    let mut deliveries = Vec::new();
    for delivery in 0..10 {
        deliveries.push(servers[delivery % 2].open(&event("evt_1", 0)).await);
    }
    eventually(async || servers.iter().any(|server| server.gate().waiting() > 0)).await;
    for server in &servers {
        server.gate().open();
    }
    let answers = soon(deliveries.into_iter().map(Pending::answer).collect::<JoinSet<_>>().join_all()).await;

    let (replays, ran): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.is_replay());
    assert_eq!((ran.len(), replays.len()), (1, 9), "{answers:?}");
    assert_ran(ran[0], 200);
    for replay in replays {
        assert_replays(ran[0], replay);
    }
    assert_eq!(servers[0].runs() + servers[1].runs(), 1);
    assert_effects(bench, 1, 1).await;
}

/// As the shipped policy, for a test that does not wait ten seconds.
#[derive(Policy)]
#[policy(scope = "endpoint", in_progress = "wait 200ms, then 503", record = "success", fingerprint = "off")]
struct Impatient;

#[idempotent(policy = Impatient, key = "event.id", ttl = "31d")]
async fn receive_impatiently<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    State(probe): State<Probe>,
    Json(event): Json<Event>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    note::<DB>(&mut *tx, &event.id).await?;
    probe.gate.pass().await;
    Ok(StatusCode::OK)
}

// Cases: W-04
pub async fn a_delivery_behind_one_that_takes_long_is_told_to_come_again<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let impatient = || Router::new().route("/events", post(receive_impatiently::<DB>));
    let (server, other_process) = (start(bench, impatient()).await, start(bench, impatient()).await);

    let first = server.open_up_to_the_gate(&event("evt_1", 0)).await;
    let mut told = vec![server.send(&event("evt_1", 1)).await];
    if DB::WRITES_IN_PARALLEL {
        told.push(other_process.send(&event("evt_1", 1)).await);
    }
    server.gate().open();
    let first = first.answer().await;

    for told in told {
        assert_refusal(&told, 503, "idempotency_in_progress");
        assert_eq!(told.field("retry-after"), Some("1"));
    }
    assert_ran(&first, 200);
    assert_replays(&first, &other_process.send(&event("evt_1", 2)).await);
    assert_effects(bench, 1, 1).await;
}

/// An event of CloudEvents in structured mode: what identifies it is in the content (CloudEvents 1.0, 3.1.1).
#[derive(Deserialize)]
struct CloudEvent {
    id: String,
    source: String,
}

#[idempotent(
    scope = "endpoint,event.source",
    key = "event.id",
    ttl = "31d",
    in_progress = "wait 10s, then 503",
    record = "success"
)]
async fn receive_structured<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    #[fingerprint(skip)] Json(event): Json<CloudEvent>,
) -> Result<StatusCode, AppError> {
    note::<DB>(&mut *tx, &event.source).await?;
    Ok(StatusCode::ACCEPTED)
}

/// The source of a `CloudEvent` in binary mode.
#[derive(ScopeValue)]
struct Source(String);

impl<S: Sync> FromRequestParts<S> for Source {
    type Rejection = (StatusCode, &'static str);

    fn from_request_parts(
        parts: &mut Parts,
        _: &S,
    ) -> impl Future<Output = Result<Self, Self::Rejection>> + Send {
        let source = parts.headers.get("ce-source").and_then(|source| source.to_str().ok());
        ready(source.map(|source| Self(source.to_owned())).ok_or((StatusCode::BAD_REQUEST, "no source")))
    }
}

#[derive(Policy)]
#[policy(scope = "endpoint,source", header = "ce-id", ttl = "31d", record = "success", fingerprint = "off")]
#[policy(in_progress = "wait 10s, then 503")]
struct CloudEvents {
    source: Source,
}

#[idempotent(policy = CloudEvents)]
async fn receive_binary<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    events: &CloudEvents,
    _data: String,
) -> Result<StatusCode, AppError> {
    note::<DB>(&mut *tx, &events.source.0).await?;
    Ok(StatusCode::ACCEPTED)
}

// Cases: W-07, W-08
pub async fn a_cloud_event_is_identified_by_its_source_as_well<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new()
        .route("/structured", post(receive_structured::<DB>))
        .route("/binary", post(receive_binary::<DB>));
    let server = start(bench, routes).await;
    let structured = |source: &str, data: &str| {
        let event =
            json!({ "specversion": "1.0", "id": "1", "source": source, "type": "sent", "data": data });
        Request::new("POST", "/structured")
            .field("Content-Type", "application/cloudevents+json")
            .body(event.to_string())
    };
    let binary = |source: &str, data: &str| {
        Request::new("POST", "/binary").field("ce-id", "1").field("ce-source", source).body(data)
    };

    for [first, again, other] in [
        [structured("/mail", "one"), structured("/mail", "two"), structured("/post", "one")],
        [binary("/mail", "one"), binary("/mail", "two"), binary("/post", "one")],
    ] {
        let first = server.send(&first).await;
        assert_ran(&first, 202);
        assert_replays(&first, &server.send(&again).await);
        assert_ran(&server.send(&other).await, 202);
    }

    assert_eq!(server.send(&binary("/mail", "one").without("ce-source")).await.status, 400);
    assert_effects(bench, 4, 4).await;
}

// Cases: W-09
pub async fn a_delivery_may_differ_from_the_one_before<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/events/{any}", any(receive::<DB>))).await;
    let event = |attempt| event("evt_1", attempt).path("/events/one");

    let first = server.send(&event(0)).await;

    assert_ran(&first, 200);
    assert_replays(&first, &server.send(&event(1)).await);
    assert_replays(&first, &server.send(&event(0).path("/events/one?attempt=1")).await);
    assert_replays(&first, &server.send(&event(0).path("/events/two")).await);
    assert_effects(bench, 1, 1).await;
    // An endpoint of its own.
    assert_ran(&server.send(&event(0).method("PUT")).await, 200);
    assert_effects(bench, 2, 2).await;
}

// Cases: W-10
pub async fn each_consumer_of_an_event_handles_it_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/billing", post(receive::<DB>)).route("/shipping", post(receive::<DB>));
    let server = start(bench, routes).await;

    for consumer in ["/billing", "/shipping"] {
        let first = server.send(&event("evt_1", 0).path(consumer)).await;
        assert_ran(&first, 200);
        assert_replays(&first, &server.send(&event("evt_1", 0).path(consumer)).await);
    }

    assert_effects(bench, 2, 2).await;
}

// Cases: W-12
pub async fn an_event_that_is_sent_again_after_thirty_days_is_known<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, events()).await;
    let first = server.send(&event("evt_1", 0)).await;
    let ttl = bench.key_row().await.ttl_secs();

    // Thirty days later, as far as the row can tell.
    bench.expire_in(ttl - 30 * DAY).await;
    let resent = server.send(&event("evt_1", 1)).await;
    // Two days more.
    bench.expire_in(ttl - 32 * DAY).await;
    let unknown = server.send(&event("evt_1", 2)).await;

    assert_eq!(ttl, 31 * DAY);
    assert_replays(&first, &resent);
    assert_ran(&unknown, 200);
    assert_effects(bench, 1, 2).await;
}

// Cases: W-17
pub async fn a_call_and_the_event_about_it_are_one_effect_each<DB: TestDatabase>(bench: &Bench<DB>) {
    let router = |app: App<DB>| routes().merge(events()).with_state(app);
    let server = bench.server().router(router).start().await;
    // The same text for both keys.
    let event = event("k-0001", 0);

    let order = server.send(&r1()).await;
    let handled = server.send(&event).await;

    assert_ran(&order, 201);
    assert_ran(&handled, 200);
    assert_replays(&handled, &server.send(&event).await);
    assert_replays(&order, &server.send(&r1()).await);
    bench.assert_holds(2, 1).await;
    assert_effects(bench, 2, 1).await;
}

/// For a sender that follows Standard Webhooks.
#[idempotent(policy = Webhook)]
async fn receive_by_header<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    event: String,
) -> Result<StatusCode, AppError> {
    note::<DB>(&mut *tx, &event).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn by_header(id: &str) -> Request {
    Request::new("POST", "/events").field("webhook-id", id).body("paid")
}

pub async fn a_delivery_without_a_usable_id_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new()
        .route("/events", post(receive_by_header::<DB>))
        .route("/in-the-event", post(receive::<DB>));
    let server = start(bench, routes).await;
    let in_the_event = |id: &str| event(id, 0).path("/in-the-event");

    let missing = server.send(&by_header("msg_1").without("webhook-id")).await;
    assert_refusal(&missing, 400, "idempotency_key_missing");
    assert_eq!(missing.json()["detail"], "This operation requires a Webhook-Id header.");
    let twice = server.send(&by_header("msg_1").field("webhook-id", "msg_1")).await;
    let too_long = "m".repeat(256);
    for refused in [
        twice,
        server.send(&by_header("")).await,
        server.send(&by_header(&too_long)).await,
        server.send(&in_the_event("")).await,
        server.send(&in_the_event(&too_long)).await,
        server.send(&in_the_event("größe")).await,
    ] {
        assert_refusal(&refused, 400, "idempotency_key_invalid");
    }

    assert_effects(bench, 0, 0).await;
}

pub async fn what_the_builder_asks_of_clients_is_not_asked_of_senders<DB: TestDatabase>(bench: &Bench<DB>) {
    let router = |app: App<DB>| {
        Router::new()
            .merge(routes())
            .route("/events", post(receive_by_header::<DB>))
            .route("/in-the-event", post(receive::<DB>))
            .with_state(app)
    };
    let server = bench
        .server()
        .engine(|builder| builder.syntax(Syntax::Strict).key_format(KeyFormat::Uuid))
        .router(router)
        .start()
        .await;

    assert_ran(&server.send(&by_header("msg_1")).await, 204);
    assert_ran(&server.send(&event("evt_1", 0).path("/in-the-event")).await, 200);

    assert_key_invalid(&server.send(&r1()).await, "format");
    assert_effects(bench, 2, 2).await;
}

#[idempotent(policy = Webhook, key = "event.id", ttl = "60d", in_progress = "reject", record = "decided")]
async fn receive_otherwise<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    State(probe): State<Probe>,
    Json(event): Json<Event>,
) -> Result<StatusCode, AppError> {
    note::<DB>(&mut *tx, &event.id).await?;
    probe.gate.pass().await;
    Ok(StatusCode::CONFLICT)
}

pub async fn a_handler_overrides_the_policy_for_webhooks<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench, Router::new().route("/events", post(receive_otherwise::<DB>))).await;

    let first = server.open_up_to_the_gate(&event("evt_1", 0)).await;
    let told = within(Duration::from_secs(5), server.send(&event("evt_1", 1))).await;
    server.gate().open();
    let first = first.answer().await;

    assert_refusal(&told, 409, "idempotency_in_progress");
    assert_ran(&first, 409);
    assert_replays(&first, &server.send(&event("evt_1", 2)).await);
    assert_eq!(bench.key_row().await.ttl_secs(), 60 * DAY);
    assert_effects(bench, 1, 0).await;
}
