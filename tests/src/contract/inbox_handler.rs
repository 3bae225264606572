//! Handlers that claim in their own transaction.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::App;
use idem_runtime::{Claim, Consumed, Idempotency, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::consumer::{Consumer, Failure, QUEUE, apply};
use crate::database::TestDatabase;
use crate::http::{Request, r1};
use crate::same::{assert_ran, assert_replays};

/// What a sender tells of a change: the sender's name and id of it, and the change itself.
#[derive(Deserialize, Serialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    object: String,
}

/// Applies a change once, whichever event tells of it.
#[idempotent(scope = "endpoint", key = "event.id", ttl = "31d")]
async fn webhook<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    State(idempotency): State<Idempotency<DB>>,
    Json(event): Json<Event>,
) -> Result<StatusCode, Failure> {
    let change = format!("{}/{}", event.object, event.kind);
    match idempotency.inbox("billing").claim(tx, QUEUE, &change).await? {
        Claim::Fresh => {
            apply::<DB>(tx, &change).await?;
            if event.kind == "unlucky" {
                return Err(Failure::Work);
            }
            Ok(StatusCode::CREATED)
        }
        Claim::Duplicate => Ok(StatusCode::OK),
    }
}

/// A handler whose keys have the identity of messages.
#[idempotent(scope = "consumer = event.kind, source = event.object", key = "event.id", ttl = "31d")]
async fn as_an_inbox<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    Json(event): Json<Event>,
) -> Result<StatusCode, Failure> {
    apply::<DB>(tx, &event.id).await?;
    Ok(StatusCode::CREATED)
}

fn routes<DB: TestDatabase>() -> Router<App<DB>> {
    Router::new().route("/webhook", post(webhook::<DB>)).route("/inbox", post(as_an_inbox::<DB>))
}

fn event(path: &'static str, id: &str, kind: &str, object: &str) -> Request {
    let body = format!(r#"{{"id":"{id}","type":"{kind}","object":"{object}"}}"#);
    r1().without("Idempotency-Key").path(path).body(body)
}

// Cases: W-11
pub async fn two_events_about_one_change_apply_it_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;
    let send = async |id| server.send(&event("/webhook", id, "invoice.paid", "in_1")).await;

    assert_ran(&send("evt_1").await, 201);
    assert_ran(&send("evt_2").await, 200);
    // Nor does the queue, through which the change comes as well.
    let consumer = Consumer::of(server.app.clone(), "billing");
    assert_eq!(consumer.consume("in_1/invoice.paid").await.expect("it works"), Consumed::Before);

    assert_eq!(bench.count("audit").await, 1);
    assert_ran(&server.send(&event("/webhook", "evt_3", "invoice.paid", "in_2")).await, 201);
    assert_eq!(bench.count("audit").await, 2);
}

// Reports: B38
pub async fn a_replay_claims_nothing_and_applies_nothing<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;
    let request = event("/webhook", "evt_1", "invoice.paid", "in_1");

    let first = server.send(&request).await;
    let rows = bench.key_rows().await;
    for _ in 0..10 {
        assert_replays(&first, &server.send(&request).await);
    }

    assert_ran(&first, 201);
    assert_eq!(rows.len(), 2, "the request's and the claim's");
    assert_eq!(bench.key_rows().await, rows);
    assert_eq!(bench.count("audit").await, 1);
}

pub async fn a_claim_is_gone_with_a_handler_that_fails<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;
    let request = event("/webhook", "evt_1", "unlucky", "in_1");

    for _ in 0..2 {
        assert_ran(&server.send(&request).await, 500);
        assert_eq!((bench.key_rows().await.len(), bench.count("audit").await), (0, 0));
    }
    let consumer = Consumer::of(server.app.clone(), "billing");
    assert_eq!(consumer.consume("in_1/unlucky").await.expect("it works"), Consumed::Now(()));
    assert_ran(&server.send(&request).await, 200);
}

pub async fn a_handler_with_the_scope_of_an_inbox_shares_its_messages<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().routes(routes()).start().await;
    let consumer = Consumer::of(server.app.clone(), "billing");
    assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));

    // There is no answer that could be replayed, and nothing for an operator to look at.
    let refused = server.send(&event("/inbox", "m-1", "billing", QUEUE)).await;
    assert_eq!((refused.status, &refused.json()["code"]), (422, &"idempotency_key_reused".into()));
    assert_ran(&server.send(&event("/inbox", "m-2", "billing", QUEUE)).await, 201);
    assert_eq!(consumer.consume("m-2").await.expect("it works"), Consumed::Before);

    assert_eq!(bench.count("audit").await, 2);
}
