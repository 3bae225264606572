//! `POST /v1/charges` of the reference application, byte by byte: what Stripe's clients rely on.

use idem_examples::reference::{App, stripe_engine, stripe_routes};
use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::{Answer, Request};
use idem_tests::on_both_databases;
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use serde_json::json;

on_both_databases! {
    a_charge_is_answered_as_by_stripe
    every_field_is_compared_and_their_order_is_not
    a_key_may_be_left_out
    two_accounts_may_use_one_key
    a_connected_account_is_an_account_of_its_own
    a_request_without_an_api_key_is_unauthorized
    a_mistaken_request_leaves_its_key_free
    a_field_that_no_database_keeps_is_the_clients_mistake
    a_body_that_is_no_form_is_refused_in_stripes_shape
    a_declined_charge_leaves_its_row_and_is_replayed
}

/// One euro, as Stripe's clients send it.
const TEA: &str = "amount=100&currency=eur&source=tok_visa&description=tea&metadata[order]=7";

async fn start<DB: TestDatabase>(bench: &Bench<DB>) -> Server<DB> {
    let router = |app: App<DB>| stripe_routes(app.idempotency.clone()).with_state(app);
    bench.server().engine(stripe_engine).router(router).start().await
}

fn charge(form: &str) -> Request {
    Request::new("POST", "/v1/charges")
        .field("Authorization", "Bearer sk_test_1")
        .field("Content-Type", "application/x-www-form-urlencoded")
        .field("Idempotency-Key", "k-0001")
        .body(form)
}

/// Asserts that `answer` is an error of this status and type.
#[track_caller]
fn assert_error(answer: &Answer, status: u16, kind: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.field("content-type"), Some("application/json"), "{answer:?}");
    assert_eq!(answer.json()["error"]["type"], kind, "{answer:?}");
    assert!(answer.json()["error"]["message"].is_string(), "{answer:?}");
}

async fn a_charge_is_answered_as_by_stripe<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;

    let first = server.send(&charge(TEA)).await;
    let retry = server.send(&charge(TEA)).await;

    assert_ran(&first, 200);
    assert_eq!(first.field("idempotency-key"), Some("k-0001"));
    assert_eq!(
        first.json(),
        json!({
            "id": "ch_1", "object": "charge", "amount": 100, "currency": "eur", "description": "tea",
            "livemode": false, "metadata": { "order": "7" }, "paid": true, "status": "succeeded",
        })
    );
    assert_replays(&first, &retry);
    assert_eq!((bench.count("stripe_charges").await, server.runs()), (1, 1));
}

async fn every_field_is_compared_and_their_order_is_not<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;
    let form = format!("{TEA}&expand[]=customer&expand[]=invoice");

    let first = server.send(&charge(&form)).await;
    let moved = form.replace("amount=100&", "") + "&amount=100";
    assert_replays(&first, &server.send(&charge(&moved)).await);

    for other in [
        form.replace("amount=100", "amount=101"),
        form.replace("metadata[order]=7", "metadata[order]=8"),
        form.replace("&description=tea", ""),
        form.replace("expand[]=customer&expand[]=invoice", "expand[]=invoice&expand[]=customer"),
        form.clone() + "&unknown=1",
    ] {
        assert_error(&server.send(&charge(&other)).await, 400, "idempotency_error");
    }
    assert_eq!((bench.count("stripe_charges").await, server.runs()), (1, 1));
}

async fn a_key_may_be_left_out<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;

    for _ in 0..2 {
        assert_ran(&server.send(&charge(TEA).without("Idempotency-Key")).await, 200);
    }

    assert_eq!((bench.count("stripe_charges").await, bench.key_rows().await.len()), (2, 0));
}

async fn two_accounts_may_use_one_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;

    let one = server.send(&charge(TEA)).await;
    let other = server.send(&charge(TEA).set("Authorization", "Bearer sk_test_2")).await;

    assert_ran(&one, 200);
    assert_ran(&other, 200);
    assert_ne!(one.json()["id"], other.json()["id"]);
}

async fn a_connected_account_is_an_account_of_its_own<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;

    let own = server.send(&charge(TEA)).await;
    let connected = charge(TEA).field("Stripe-Account", "acct_1");
    let first = server.send(&connected).await;

    assert_ran(&own, 200);
    assert_ran(&first, 200);
    assert_ne!(own.json()["id"], first.json()["id"]);
    assert_replays(&first, &server.send(&connected).await);
    assert_error(&server.send(&connected.set("Stripe-Account", "1")).await, 401, "invalid_request_error");
}

async fn a_request_without_an_api_key_is_unauthorized<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;

    for request in [
        charge(TEA).without("Authorization"),
        charge(TEA).set("Authorization", "Basic c2tfdGVzdF8x"),
        charge(TEA).set("Authorization", "Bearer rk_test_1"),
    ] {
        let answer = server.send(&request).await;
        assert_error(&answer, 401, "invalid_request_error");
        assert!(answer.field("www-authenticate").is_some(), "{answer:?}");
    }

    assert_eq!((server.runs(), bench.key_rows().await.len()), (0, 0));
}

async fn a_mistaken_request_leaves_its_key_free<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;

    for (mistaken, param, code) in [
        (TEA.replace("amount=100&", ""), "amount", "parameter_missing"),
        (TEA.replace("&source=tok_visa", ""), "source", "parameter_missing"),
        (TEA.replace("currency=eur", "currency="), "currency", "parameter_missing"),
        (TEA.replace("amount=100", "amount=-1"), "amount", "parameter_invalid_integer"),
        (TEA.replace("amount=100", "amount=%2B100"), "amount", "parameter_invalid_integer"),
    ] {
        let answer = server.send(&charge(&mistaken)).await;
        assert_error(&answer, 400, "invalid_request_error");
        assert_eq!(answer.json()["error"]["param"], param);
        assert_eq!(answer.json()["error"]["code"], code);
    }

    assert_ran(&server.send(&charge(TEA)).await, 200);
}

async fn a_field_that_no_database_keeps_is_the_clients_mistake<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;

    let answer = server.send(&charge(&TEA.replace("description=tea", "description=a%00b"))).await;

    assert_error(&answer, 400, "invalid_request_error");
    assert_ran(&server.send(&charge(TEA)).await, 200);
    assert_eq!(server.runs(), 1);
}

async fn a_body_that_is_no_form_is_refused_in_stripes_shape<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;

    let answer = server.send(&charge("{}").set("Content-Type", "application/json")).await;

    assert_error(&answer, 415, "invalid_request_error");
    assert_eq!(server.runs(), 0);
}

async fn a_declined_charge_leaves_its_row_and_is_replayed<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = start(bench).await;
    let declined = charge(&TEA.replace("tok_visa", "tok_chargeDeclined"));

    let first = server.send(&declined).await;
    let retry = server.send(&declined).await;

    assert_error(&first, 402, "card_error");
    assert_eq!(first.json()["error"]["code"], "card_declined");
    assert_eq!(first.json()["error"]["charge"], "ch_1");
    assert_replays(&first, &retry);
    assert_eq!((bench.count("stripe_charges").await, server.runs()), (1, 1));
}
