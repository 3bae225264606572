//! Deliveries that are really signed: to the routes of the example `webhooks`, and to handlers on both databases that
//! take its extractors.

use std::time::Duration;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::http::StatusCode;
use axum::routing::post;
use idem_examples::reference::{App, AppError, Database, Probe, Value};
use idem_examples::webhooks::{self, Secrets, Standard, Stripe, TABLES, unix_time};
use idem_runtime::{Idempotency, Webhook, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::database::{KeyRow, Place as _, TestDatabase};
use idem_tests::http::{Answer, Request};
use idem_tests::on_both_databases;
use idem_tests::problem::assert_refusal;
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use serde::Deserialize;
use serde_json::json;
use sqlx::{Sqlite, Transaction};
use tokio::time::Instant;

on_both_databases! {
    a_forged_delivery_stores_nothing_and_does_not_stand_in_the_way
    a_delivery_that_is_signed_anew_is_the_same_event
    a_delivery_waits_ten_seconds_for_another_and_is_told_to_come_again
}

fn secrets() -> Secrets {
    Secrets::new("whsec_of_the_test", "whsec_dGhlIHNlY3JldCBvZiB0aGUgdGVzdA==").expect("two secrets")
}

/// Those of somebody else.
fn other_secrets() -> Secrets {
    Secrets::new("whsec_of_somebody", "whsec_dGhlIHNlY3JldCBvZiBzb21lYm9keQ==").expect("two secrets")
}

fn signed_as_stripe(secrets: &Secrets, body: &str, time: u64) -> Request {
    Request::new("POST", "/webhooks/stripe")
        .field("Stripe-Signature", secrets.sign_as_stripe(body, time))
        .body(body)
}

fn signed_as_standard(secrets: &Secrets, id: &str, body: &str, time: u64) -> Request {
    Request::new("POST", "/webhooks/bank")
        .field("webhook-id", id)
        .field("webhook-timestamp", time.to_string())
        .field("webhook-signature", secrets.sign_as_standard(id, body, time))
        .body(body)
}

// --- Handlers on both databases -------------------------------------------------------------------------

#[derive(Deserialize)]
struct Event {
    id: String,
}

/// A router's state of which the extractors take the secrets.
struct Hooks<DB: Database>(App<DB>);

// By hand: a derive would ask `DB: Clone`.
impl<DB: Database> Clone for Hooks<DB> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<DB: Database> FromRef<Hooks<DB>> for Idempotency<DB> {
    fn from_ref(hooks: &Hooks<DB>) -> Self {
        hooks.0.idempotency.clone()
    }
}

impl<DB: Database> FromRef<Hooks<DB>> for Probe {
    fn from_ref(hooks: &Hooks<DB>) -> Self {
        hooks.0.probe.clone()
    }
}

impl<DB: Database> FromRef<Hooks<DB>> for Secrets {
    fn from_ref(_: &Hooks<DB>) -> Self {
        secrets()
    }
}

async fn note<DB: Database>(connection: &mut DB::Connection, text: &str) -> Result<(), AppError> {
    let sql = "INSERT INTO audit (tenant, note) VALUES ('sender', $1)";
    DB::execute(connection, sql, &[Value::Text(text)]).await?;
    Ok(())
}

#[idempotent(policy = Webhook, key = "event.id")]
async fn receive_from_stripe<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    State(probe): State<Probe>,
    #[fingerprint(skip)] Stripe(event): Stripe<Event>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    note::<DB>(&mut *tx, &event.id).await?;
    Ok(StatusCode::OK)
}

#[idempotent(policy = Webhook)]
async fn receive_from_bank<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    State(probe): State<Probe>,
    #[fingerprint(skip)] Standard(event): Standard<Event>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    note::<DB>(&mut *tx, &event.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The shipped policy as it is, behind the gate.
#[idempotent(policy = Webhook, key = "event.id")]
async fn receive_slowly<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    State(probe): State<Probe>,
    #[fingerprint(skip)] Stripe(event): Stripe<Event>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    note::<DB>(&mut *tx, &event.id).await?;
    probe.gate.pass().await;
    Ok(StatusCode::OK)
}

async fn start<DB: TestDatabase>(bench: &Bench<DB>) -> Server<DB> {
    let router = |app: App<DB>| {
        Router::new()
            .route("/webhooks/stripe", post(receive_from_stripe::<DB>))
            .route("/webhooks/bank", post(receive_from_bank::<DB>))
            .route("/slow", post(receive_slowly::<DB>))
            .with_state(Hooks(app))
    };
    bench.server().router(router).start().await
}

/// Asserts how many key rows there are, each with an answer, and how many effects.
async fn assert_effects<DB: TestDatabase>(bench: &Bench<DB>, completed_keys: usize, effects: i64) {
    let rows = bench.key_rows().await;
    assert_eq!(rows.len(), completed_keys, "{rows:?}");
    assert!(rows.iter().all(KeyRow::is_completed), "{rows:?}");
    assert_eq!(bench.count("audit").await, effects, "effects");
}

// Cases: W-05
async fn a_forged_delivery_stores_nothing_and_does_not_stand_in_the_way<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;
    let (body, now) = (r#"{"id":"evt_9"}"#, unix_time());
    let stripe = |secrets: &Secrets| signed_as_stripe(secrets, body, now);
    let bank = |secrets: &Secrets| signed_as_standard(secrets, "msg_9", body, now);

    assert_eq!(server.send(&stripe(&other_secrets())).await.status, 401);
    assert_eq!(server.send(&bank(&other_secrets())).await.status, 401);
    assert_eq!(server.runs(), 0);
    assert_effects(bench, 0, 0).await;

    assert_ran(&server.send(&stripe(&secrets())).await, 200);
    assert_ran(&server.send(&bank(&secrets())).await, 204);
    assert_effects(bench, 2, 2).await;

    // Nor is a forged one told what the real one was.
    for forged in [stripe(&other_secrets()), bank(&other_secrets())] {
        let forged = server.send(&forged).await;
        assert_eq!((forged.status, forged.is_replay()), (401, false), "{forged:?}");
    }
    assert_eq!(server.runs(), 2);
}

// Cases: W-06
async fn a_delivery_that_is_signed_anew_is_the_same_event<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;
    let (now, secrets) = (unix_time(), secrets());
    let delivery = |id: &str, body: &str, time| signed_as_standard(&secrets, id, body, time);

    let first = server.send(&delivery("msg_1", r#"{"id":"paid"}"#, now - 20)).await;
    let again = server.send(&delivery("msg_1", r#"{"id":"paid"}"#, now)).await;
    let changed = server.send(&delivery("msg_1", r#"{"id":"paid","attempt":3}"#, now + 1)).await;
    let other = server.send(&delivery("msg_2", r#"{"id":"paid"}"#, now)).await;

    assert_ran(&first, 204);
    assert_replays(&first, &again);
    assert_replays(&first, &changed);
    assert_ran(&other, 204);
    assert_eq!(server.runs(), 2);
    assert_effects(bench, 2, 2).await;
}

// Cases: W-04
async fn a_delivery_waits_ten_seconds_for_another_and_is_told_to_come_again<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let server = start(bench).await;
    let (now, secrets) = (unix_time(), secrets());
    let delivery = |time| signed_as_stripe(&secrets, r#"{"id":"evt_1"}"#, time).path("/slow");

    let first = server.open_up_to_the_gate(&delivery(now)).await;
    let begun = Instant::now();
    let told = server.send(&delivery(now + 1)).await;
    let waited = begun.elapsed();
    server.gate().open();
    let first = first.answer().await;

    assert_refusal(&told, 503, "idempotency_in_progress");
    assert_eq!(told.field("retry-after"), Some("1"));
    assert!(waited >= Duration::from_secs(10), "{waited:?}");
    assert_ran(&first, 200);
    assert_replays(&first, &server.send(&delivery(now + 2)).await);
    assert_effects(bench, 1, 1).await;
}

// --- The example ----------------------------------------------------------------------------------------

/// Serves the example's own router, with two invoices.
async fn serve(bench: &Bench<Sqlite>) -> Server<Sqlite> {
    let pool = bench.place.pool();
    sqlx::raw_sql(TABLES).execute(pool).await.expect("the tables can be made");
    bench.place.execute("INSERT INTO invoices (id, cents) VALUES (7, 1000), (8, 2500)").await;
    let router = |App { idempotency, reader, .. }: App<Sqlite>| {
        webhooks::router(webhooks::App { idempotency, reader, secrets: secrets() })
    };
    bench.server().router(router).start().await
}

/// What was paid of the two invoices, in cents.
async fn paid(server: &Server<Sqlite>) -> [i64; 2] {
    let invoices = server.send(&Request::new("GET", "/invoices")).await.json();
    [0, 1].map(|index| {
        let invoice = &invoices[index];
        let (paid, cents) =
            (invoice["paid"].as_i64().expect("a sum"), invoice["cents"].as_i64().expect("a sum"));
        assert_eq!(invoice["is_settled"], paid >= cents, "{invoice}");
        paid
    })
}

/// An event of Stripe's about a payment of invoice 7.
fn stripe_event(id: &str, kind: &str, amount: i64) -> String {
    let object = json!({ "object": "of some kind", "amount": amount, "metadata": { "invoice": "7" } });
    json!({ "id": id, "object": "event", "type": kind, "data": { "object": object } }).to_string()
}

/// An event of the bank's about a payment of invoice 8.
fn bank_event(kind: &str, cents: i64) -> String {
    json!({ "type": kind, "timestamp": "2026-01-01T00:00:00Z", "data": { "invoice": 8, "cents": cents } })
        .to_string()
}

#[tokio::test]
async fn the_example_counts_each_payment_once_in_whatever_order() {
    run(async |bench: &Bench<Sqlite>| {
        let server = serve(bench).await;
        let (now, secrets) = (unix_time(), secrets());
        let stripe = |id: &str, kind: &str, amount, time| {
            signed_as_stripe(&secrets, &stripe_event(id, kind, amount), time)
        };
        let bank = |id: &str, kind: &str, cents, time| {
            signed_as_standard(&secrets, id, &bank_event(kind, cents), time)
        };

        // The refund comes before the payment.
        for time in [now - 60, now, now + 1] {
            let refund = server.send(&stripe("evt_2", "refund.created", 400, time)).await;
            let payment = server.send(&stripe("evt_1", "payment_intent.succeeded", 1000, time)).await;
            let received = server.send(&bank("msg_1", "payment.received", 2500, time)).await;
            let returned = server.send(&bank("msg_2", "payment.returned", 500, time)).await;
            let is_first = time == now - 60;
            for (answer, status) in [(refund, 200), (payment, 200), (received, 204), (returned, 204)] {
                assert_eq!((answer.status, answer.is_replay()), (status, !is_first), "{answer:?}");
            }
            assert_eq!(paid(&server).await, [600, 2000]);
        }

        assert_ran(&server.send(&stripe("evt_3", "payment_intent.succeeded", 400, now)).await, 200);
        assert_ran(&server.send(&bank("evt_3", "payment.received", 500, now)).await, 204);
        assert_eq!(paid(&server).await, [1000, 2500]);
        bench.assert_holds(6, 0).await;
    })
    .await;
}

#[tokio::test]
async fn the_example_takes_note_of_events_that_do_not_concern_it() {
    run(async |bench: &Bench<Sqlite>| {
        let server = serve(bench).await;
        let (now, secrets) = (unix_time(), secrets());
        let other = r#"{"id":"evt_1","type":"customer.created","data":{"object":{"name":"A"}}}"#;
        let unlike = r#"{"id":"evt_2","type":"refund.created","data":{"object":{"amount":"much"}}}"#;
        let unlike_the_bank = r#"{"type":"payment.received","data":[]}"#;

        assert_ran(&server.send(&signed_as_stripe(&secrets, other, now)).await, 200);
        let other = r#"{"type":"account.closed","data":null}"#;
        assert_ran(&server.send(&signed_as_standard(&secrets, "msg_1", other, now)).await, 204);
        // To be delivered again when a later version can read them.
        for _ in 0..2 {
            assert_ran(&server.send(&signed_as_stripe(&secrets, unlike, now)).await, 400);
            let delivery = signed_as_standard(&secrets, "msg_2", unlike_the_bank, now);
            assert_ran(&server.send(&delivery).await, 400);
        }

        assert_eq!(paid(&server).await, [0, 0]);
        bench.assert_holds(2, 0).await;
    })
    .await;
}

/// Asserts that each of these is refused with this status, by a reason that is not the library's, and that nothing came
/// of it.
async fn assert_refused(bench: &Bench<Sqlite>, server: &Server<Sqlite>, status: u16, requests: &[Request]) {
    for request in requests {
        let answer: Answer = server.send(request).await;
        assert_eq!((answer.status, answer.is_replay()), (status, false), "{request:?}: {answer:?}");
        assert_ne!(answer.field("content-type"), Some("application/problem+json"), "{answer:?}");
    }
    assert_eq!(paid(server).await, [0, 0]);
    bench.assert_holds(0, 0).await;
}

#[tokio::test]
async fn the_example_refuses_what_stripe_has_not_signed() {
    run(async |bench: &Bench<Sqlite>| {
        let server = serve(bench).await;
        let (now, secrets) = (unix_time(), secrets());
        let body = stripe_event("evt_9", "payment_intent.succeeded", 1000);
        let real = signed_as_stripe(&secrets, &body, now);
        let field = secrets.sign_as_stripe(&body, now);
        let (time, signature) = field.split_once(',').expect("a time and a signature");

        let refused = [
            signed_as_stripe(&other_secrets(), &body, now),
            // Kept by somebody, or made ahead.
            signed_as_stripe(&secrets, &body, now - 400),
            signed_as_stripe(&secrets, &body, now + 400),
            real.clone().set("Stripe-Signature", format!("t={},{signature}", now + 1)),
            real.clone().without("Stripe-Signature"),
            real.clone().set("Stripe-Signature", ""),
            real.clone().set("Stripe-Signature", time),
            real.clone().set("Stripe-Signature", signature),
            real.clone().set("Stripe-Signature", format!("t=-9223372036854775808,{signature}")),
            real.clone().set("Stripe-Signature", b"t=\xff"),
            real.clone().body(body.replace("evt_9", "evt_8")),
            real.clone().body(""),
            // By the other sender's rules.
            signed_as_standard(&secrets, "msg_9", &body, now).path("/webhooks/stripe"),
        ];

        assert_refused(bench, &server, 401, &refused).await;
        let changing =
            secrets.sign_as_stripe(&body, now).replace("v1=", &format!("v1={},v1=", "0".repeat(64)));
        assert_ran(&server.send(&real.clone().set("Stripe-Signature", changing)).await, 200);
        // A delivery that was kept is no way to the answer of the event that was handled.
        let kept = server.send(&signed_as_stripe(&secrets, &body, now - 400)).await;
        assert_eq!((kept.status, kept.is_replay()), (401, false));
        assert_eq!(paid(&server).await, [1000, 0]);
    })
    .await;
}

#[tokio::test]
async fn the_example_refuses_what_the_bank_has_not_signed() {
    run(async |bench: &Bench<Sqlite>| {
        let server = serve(bench).await;
        let (now, secrets) = (unix_time(), secrets());
        let body = bank_event("payment.received", 2500);
        let real = signed_as_standard(&secrets, "msg_9", &body, now);
        let signature = secrets.sign_as_standard("msg_9", &body, now);

        let mut refused = vec![
            signed_as_standard(&other_secrets(), "msg_9", &body, now),
            signed_as_standard(&secrets, "msg_9", &body, now - 400),
            signed_as_standard(&secrets, "msg_9", &body, now + 400),
            // The id is signed as well.
            real.clone().set("webhook-id", "msg_8"),
            real.clone().set("webhook-timestamp", (now + 1).to_string()),
            real.clone().set("webhook-signature", signature.replace("v1,", "v2,")),
            real.clone().set("webhook-signature", "v1,"),
            real.clone().body(body.replace("2500", "9999")),
            real.clone().body(b"\xff"),
            signed_as_stripe(&secrets, &body, now).path("/webhooks/bank"),
        ];
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            refused.push(real.clone().without(name));
        }
        // The least and the largest numbers that the library would count from.
        for time in ["-9223372036854775808", "9223372036854775807", "0", "", "+1", "1e9", "soon"] {
            refused.push(real.clone().set("webhook-timestamp", time));
        }

        assert_refused(bench, &server, 401, &refused).await;
        let changing = format!("v1,{} {signature}", "A".repeat(43) + "=");
        assert_ran(&server.send(&real.set("webhook-signature", changing)).await, 204);
        let kept = server.send(&signed_as_standard(&secrets, "msg_9", &body, now - 400)).await;
        assert_eq!((kept.status, kept.is_replay()), (401, false));
        assert_eq!(paid(&server).await, [0, 2500]);
    })
    .await;
}

#[tokio::test]
async fn the_example_refuses_what_it_cannot_read_or_know_again() {
    run(async |bench: &Bench<Sqlite>| {
        let server = serve(bench).await;
        let (now, secrets) = (unix_time(), secrets());
        let stripe = |body: &str| signed_as_stripe(&secrets, body, now);
        let bank = |id: &str, body: &str| signed_as_standard(&secrets, id, body, now);
        let paid_by_bank = bank_event("payment.received", 2500);

        // axum's own answers: more than 2 MiB, no JSON, another shape.
        let huge = stripe_event(&"9".repeat(2 << 20), "payment_intent.succeeded", 1000);
        assert_refused(bench, &server, 413, &[stripe(&huge)]).await;
        assert_refused(bench, &server, 400, &[stripe("{"), bank("msg_9", "")]).await;
        assert_refused(bench, &server, 422, &[stripe("{}"), bank("msg_9", "[]")]).await;

        // The library's: they are signed and read, and have no id that can be kept.
        let too_long = "m".repeat(256);
        for delivery in [
            stripe(&stripe_event("", "payment_intent.succeeded", 1000)),
            stripe(&stripe_event(&too_long, "payment_intent.succeeded", 1000)),
            bank("", &paid_by_bank),
            bank(&too_long, &paid_by_bank),
            bank("msg_9", &paid_by_bank).field("webhook-id", "msg_8"),
        ] {
            assert_refusal(&server.send(&delivery).await, 400, "idempotency_key_invalid");
        }
        assert_eq!(paid(&server).await, [0, 0]);
        bench.assert_holds(0, 0).await;

        let longest = "m".repeat(255);
        assert_ran(&server.send(&bank(&longest, &paid_by_bank)).await, 204);
        assert_eq!(paid(&server).await, [0, 2500]);
    })
    .await;
}

#[test]
fn a_secret_that_anybody_has_is_none() {
    assert!(Secrets::new("", "whsec_c2VjcmV0").is_none());
    assert!(Secrets::new("whsec_x", "").is_none());
    assert!(Secrets::new("whsec_x", "whsec_").is_none());
    assert!(Secrets::new("whsec_x", "whsec_?").is_none());
    assert!(!format!("{:?}", secrets()).contains("of_the_test"));
}
