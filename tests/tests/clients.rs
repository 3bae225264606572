//! Clients that others have written, against the reference server, over a network that fails.
//!
//! Each retries as its library does by itself. However an exchange failed, in the end there is one row per
//! operation, and the client knows which. `tests/clients/README.md` says how the clients are set up, and why.

use std::collections::BTreeMap;

use idem_tests::bench::{Bench, run, run_on_own_database};
use idem_tests::clients::Client;
use idem_tests::database::TestDatabase;
use idem_tests::http::{Answer, Request};
use idem_tests::http_proxy::fault::{self, Fault};
use idem_tests::http_proxy::{Exchange, HttpProxy};
use idem_tests::process::Process;
use serde_json::{Value as JsonValue, json};
use sqlx::{Postgres, Sqlite};

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

/// What the faults depend on. A failing test fails again with the same seed.
const SEED: u64 = 1;

/// How many operations a client carries out over a network that fails.
const OPERATIONS: usize = 80;

/// The faults after which the stripe package tries again by itself.
const LOST: [Fault; 4] = [Fault::Delay, Fault::DropRequest, Fault::DropAnswer, Fault::Reset];

/// All faults there are.
const ALL: [Fault; 5] = [Fault::Delay, Fault::DropRequest, Fault::DropAnswer, Fault::Reset, Fault::CutAnswer];

/// A charge for the stripe client, described by its name.
fn charge(name: &str, amount: i64, source: &str) -> JsonValue {
    let metadata = json!({ "order": name });
    let params = json!({
        "amount": amount, "currency": "eur", "source": source, "description": name, "metadata": metadata,
    });
    json!({ "operation": name, "params": params })
}

/// The same with a key of the caller's instead of one that the package makes up.
fn with_key(mut charge: JsonValue, key: &str) -> JsonValue {
    charge["options"] = json!({ "idempotency_key": key });
    charge
}

/// An order for the axios client.
fn order(name: &str, path: &str, body: &JsonValue) -> JsonValue {
    json!({ "operation": name, "path": path, "body": body })
}

/// Asserts that each of `faults` has happened, and that the server has done work for a client that had left.
#[track_caller]
fn assert_happened(exchanges: &[Exchange], faults: &[Fault]) {
    let mut counts = BTreeMap::new();
    let mut first_answers = BTreeMap::new();
    for exchange in exchanges {
        *counts.entry(exchange.fault).or_insert(0) += 1;
        if let Some(answer) = exchange.answer.as_ref().filter(|answer| answer.status != 409) {
            first_answers.entry(&exchange.body).or_insert(answer.is_replay());
        }
    }
    let unseen = first_answers.into_values().filter(|is_replay| *is_replay).count();
    println!("seed {SEED}: {counts:?}, {unseen} operations were done after their client had left");
    assert!(faults.iter().all(|fault| counts.contains_key(fault)) && unseen > 0);
}

async fn every_charge_is_made_once<DB: TestDatabase>(bench: &Bench<DB>, url: &str) {
    let server = Process::start(PROGRAM, url).await;
    let proxy = HttpProxy::start(server.address, fault::seeded(SEED, &LOST)).await;
    let charges = (0..OPERATIONS).map(|number| {
        let source = if number % 8 == 0 { "tok_chargeDeclined" } else { "tok_visa" };
        charge(&format!("order {number}"), 100 + i64::try_from(number).expect("a small number"), source)
    });
    let charges = charges.collect::<Vec<_>>();

    let outcomes = Client::Stripe.run(proxy.address, &charges).await;

    for charge in &charges {
        let name = charge["operation"].as_str().expect("a name");
        let outcome = &outcomes[name];
        let id = format!("ch_{}", bench.only_row("stripe_charges", "description", name).await);
        if charge["params"]["source"] == "tok_chargeDeclined" {
            assert_eq!(outcome["error"]["class"], "CardError", "{outcome}");
            assert_eq!(outcome["error"]["body"]["error"]["charge"], id, "{outcome}");
        } else {
            assert_eq!(outcome["charge"]["id"], id, "{outcome}");
            assert_eq!(outcome["charge"]["amount"], charge["params"]["amount"], "{outcome}");
            assert_eq!(outcome["charge"]["metadata"]["order"], name, "{outcome}");
        }
    }
    proxy.assert_one_key_and_one_answer_each(OPERATIONS);
    assert_happened(&proxy.exchanges(), &LOST);
    let all = i64::try_from(OPERATIONS).expect("a small number");
    assert_eq!((bench.count("stripe_charges").await, server.runs().await), (all, all));
    server.kill().await;
}

// Cases: R-01
#[tokio::test]
async fn stripe_makes_every_charge_once_over_a_failing_network_on_postgres() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        every_charge_is_made_once(bench, &bench.place.url(None)).await;
    })
    .await;
}

// Cases: R-01
#[tokio::test]
async fn stripe_makes_every_charge_once_over_a_failing_network_on_sqlite() {
    run(async |bench: &Bench<Sqlite>| every_charge_is_made_once(bench, &bench.place.url()).await).await;
}

async fn every_order_is_made_once<DB: TestDatabase>(bench: &Bench<DB>, url: &str) {
    let server = Process::start(PROGRAM, url).await;
    let proxy = HttpProxy::start(server.address, fault::seeded(SEED, &ALL)).await;
    let names = (0..OPERATIONS).map(|number| format!("tea {number}")).collect::<Vec<_>>();
    let orders = names.iter().map(|name| order(name, "/orders", &json!({ "item": name, "qty": 1 })));
    let orders = orders.collect::<Vec<_>>();

    let outcomes = Client::Axios.run(proxy.address, &orders).await;

    for name in &names {
        let id = bench.only_row("orders", "item", name).await;
        assert_eq!(outcomes[name]["status"], 201, "{}", outcomes[name]);
        assert_eq!(outcomes[name]["body"], json!({ "id": id, "item": name, "qty": 1 }));
    }
    proxy.assert_one_key_and_one_answer_each(OPERATIONS);
    assert_happened(&proxy.exchanges(), &ALL);
    bench.assert_holds(OPERATIONS, i64::try_from(OPERATIONS).expect("a small number")).await;
    assert_eq!(usize::try_from(server.runs().await), Ok(OPERATIONS));
    server.kill().await;
}

// Cases: R-01
#[tokio::test]
async fn axios_makes_every_order_once_over_a_failing_network_on_postgres() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        every_order_is_made_once(bench, &bench.place.url(None)).await;
    })
    .await;
}

// Cases: R-01
#[tokio::test]
async fn axios_makes_every_order_once_over_a_failing_network_on_sqlite() {
    run(async |bench: &Bench<Sqlite>| every_order_is_made_once(bench, &bench.place.url()).await).await;
}

/// Runs a test of one client against a server on PostgreSQL, behind a proxy that decides as it is told.
async fn through(decide: fault::Decide, test: impl AsyncFnOnce(&Bench<Postgres>, &Process, &HttpProxy)) {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let server = Process::start(PROGRAM, &bench.place.url(None)).await;
        let proxy = HttpProxy::start(server.address, decide).await;
        test(bench, &server, &proxy).await;
    })
    .await;
}

/// Opens the server's gate when a duplicate has been told that the first request is in progress.
async fn open_gate_after_a_409(server: &Process, proxy: &HttpProxy) {
    proxy.answered(409).await;
    assert_eq!(server.send(&Request::new("POST", "/gate")).await.status, 204);
}

/// The answers that the server gave, whether or not the client got them.
fn answers(proxy: &HttpProxy) -> Vec<Answer> {
    proxy.exchanges().into_iter().filter_map(|exchange| exchange.answer).collect()
}

// Cases: E-05, C-01
#[tokio::test]
async fn stripe_waits_for_a_charge_in_progress_and_gets_its_answer() {
    through(fault::none(), async |bench, server, proxy| {
        let one = with_key(charge("tea", 100, "tok_gate"), "k-0001");
        let mut charges = [one.clone(), one];
        charges[1]["operation"] = json!("the same tea");

        let (outcomes, ()) =
            tokio::join!(Client::Stripe.run(proxy.address, &charges), open_gate_after_a_409(server, proxy));

        let id = format!("ch_{}", bench.only_row("stripe_charges", "description", "tea").await);
        assert!(outcomes.values().all(|outcome| outcome["charge"]["id"] == id), "{outcomes:?}");
        assert_eq!(server.runs().await, 1);
        for answer in answers(proxy).iter().filter(|answer| answer.status == 409) {
            assert_eq!(answer.field("stripe-should-retry"), Some("true"), "{answer:?}");
        }
    })
    .await;
}

// Cases: E-05, F-03
#[tokio::test]
async fn stripe_raises_an_idempotency_error_for_other_params_and_does_not_retry() {
    through(fault::none(), async |bench, _, proxy| {
        let (tea, rum) = (charge("tea", 100, "tok_visa"), charge("rum", 200, "tok_visa"));

        Client::Stripe.run(proxy.address, &[with_key(tea, "k-0001")]).await;
        let outcomes = Client::Stripe.run(proxy.address, &[with_key(rum, "k-0001")]).await;

        let error = &outcomes["rum"]["error"];
        assert_eq!((&error["class"], &error["status"]), (&json!("IdempotencyError"), &json!(400)), "{error}");
        assert_eq!(proxy.exchanges().len(), 2, "one attempt each");
        bench.only_row("stripe_charges", "description", "tea").await;
        assert_eq!(bench.count("stripe_charges").await, 1);
    })
    .await;
}

// Cases: R-07
#[tokio::test]
async fn stripe_is_told_of_a_declined_card_by_a_replay_when_the_answer_was_lost() {
    through(fault::first(Fault::DropAnswer), async |bench, server, proxy| {
        let outcomes = Client::Stripe.run(proxy.address, &[charge("tea", 100, "tok_chargeDeclined")]).await;

        let error = &outcomes["tea"]["error"];
        assert_eq!((&error["class"], &error["status"]), (&json!("CardError"), &json!(402)), "{error}");
        let answers = answers(proxy);
        assert_eq!(answers.iter().map(Answer::is_replay).collect::<Vec<_>>(), [false, true]);
        assert_eq!(answers[1].field("stripe-should-retry"), Some("false"));
        bench.only_row("stripe_charges", "description", "tea").await;
        assert_eq!(server.runs().await, 1);
    })
    .await;
}

// The package retries when no answer comes. Half an answer it takes for an error of another kind, and leaves to
// its caller; who has given a key can call again.
#[tokio::test]
async fn half_an_answer_is_left_to_the_caller_of_stripe_whose_second_call_is_replayed() {
    through(fault::first(Fault::CutAnswer), async |bench, server, proxy| {
        let charge = with_key(charge("tea", 100, "tok_visa"), "k-0001");

        let first = Client::Stripe.run(proxy.address, std::slice::from_ref(&charge)).await;
        let attempts = proxy.exchanges().len();
        let second = Client::Stripe.run(proxy.address, &[charge]).await;

        assert_eq!(first["tea"]["error"]["class"], "APIConnectionError");
        assert_eq!(attempts, 1);
        let id = format!("ch_{}", bench.only_row("stripe_charges", "description", "tea").await);
        assert_eq!(second["tea"]["charge"]["id"], id);
        assert!(answers(proxy)[1].is_replay());
        assert_eq!(server.runs().await, 1);
    })
    .await;
}

#[tokio::test]
async fn stripe_raises_an_authentication_error_for_an_unknown_api_key() {
    through(fault::none(), async |_, server, proxy| {
        let mut charge = charge("tea", 100, "tok_visa");
        charge["options"] = json!({ "api_key": "rk_unknown" });

        let outcomes = Client::Stripe.run(proxy.address, &[charge]).await;

        assert_eq!(outcomes["tea"]["error"]["class"], "AuthenticationError");
        assert_eq!((proxy.exchanges().len(), server.runs().await), (1, 0));
    })
    .await;
}

// Cases: C-01
#[tokio::test]
async fn axios_waits_for_an_order_in_progress_and_gets_its_answer() {
    through(fault::none(), async |bench, server, proxy| {
        let body = json!({ "item": "tea", "qty": 1 });
        let mut orders = [order("tea", "/slow", &body), order("the same tea", "/slow", &body)];
        for order in &mut orders {
            order["key"] = json!("k-0001");
        }

        let (outcomes, ()) =
            tokio::join!(Client::Axios.run(proxy.address, &orders), open_gate_after_a_409(server, proxy));

        let id = bench.only_row("orders", "item", "tea").await;
        for outcome in outcomes.values() {
            assert_eq!((&outcome["status"], &outcome["body"]["id"]), (&json!(201), &json!(id)), "{outcome}");
        }
        assert_eq!(outcomes.values().filter(|outcome| outcome["replayed"] == true).count(), 1);
        assert_eq!(server.runs().await, 1);
    })
    .await;
}

// Cases: F-01
#[tokio::test]
async fn axios_is_refused_a_key_that_was_used_for_another_order_and_does_not_retry() {
    through(fault::none(), async |bench, _, proxy| {
        let mut orders =
            ["tea", "rum"].map(|item| order(item, "/orders", &json!({ "item": item, "qty": 1 })));
        for order in &mut orders {
            order["key"] = json!("k-0001");
        }

        Client::Axios.run(proxy.address, &orders[..1]).await;
        let outcomes = Client::Axios.run(proxy.address, &orders[1..]).await;

        let rum = &outcomes["rum"];
        assert_eq!((&rum["status"], &rum["body"]["code"]), (&json!(422), &json!("idempotency_key_reused")));
        assert_eq!(proxy.exchanges().len(), 2, "one attempt each");
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: R-07
#[tokio::test]
async fn axios_is_told_of_a_declined_card_by_a_replay_when_the_answer_was_lost() {
    through(fault::first(Fault::DropAnswer), async |bench, server, proxy| {
        let tea = order("tea", "/declined", &json!({ "item": "tea", "qty": 1 }));

        let outcomes = Client::Axios.run(proxy.address, &[tea]).await;

        let outcome = &outcomes["tea"];
        assert_eq!((&outcome["status"], &outcome["replayed"]), (&json!(402), &json!(true)), "{outcome}");
        assert_eq!(outcome["body"], json!({ "reason": "card_declined" }));
        assert_eq!((bench.count("audit").await, server.runs().await), (1, 1));
    })
    .await;
}
