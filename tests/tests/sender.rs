//! Operations of `idem-client` against the reference server, over a network that fails. However its attempts end, an
//! operation is done once, and its sender learns what became of it. `sending.rs` has what needs no database.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, process};

use axum::http::StatusCode;
use idem_client::{IdempotentClient, Last, Limit, Operation};
use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::Answer;
use idem_tests::http_proxy::HttpProxy;
use idem_tests::http_proxy::fault::{self, Fault};
use idem_tests::on_both_databases;
use idem_tests::patience::{soon, within};
use idem_tests::random::Random;
use idem_tests::sending::{gave_up, hasty, http, order, post};
use serde_json::{Value as JsonValue, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::task::JoinSet;

/// The sender that is killed.
const SENDER: &str = env!("CARGO_BIN_EXE_sender");

/// What the faults depend on. A failing test fails again with the same seed.
const SEED: u64 = 1;

/// How many operations are sent over the network that fails, and how many at a time.
const OPERATIONS: usize = 1000;
const AT_A_TIME: usize = 32;

/// How long all of them may take.
const LONG: Duration = Duration::from_secs(100);

// --- a network that fails ------------------------------------------------------------------------------

/// Asserts that about half of the exchanges have failed, and that the server has done work for a client that had
/// left.
#[track_caller]
fn assert_half_failed(proxy: &HttpProxy) {
    let exchanges = proxy.exchanges();
    let mut counts = BTreeMap::new();
    for exchange in &exchanges {
        *counts.entry(exchange.fault).or_insert(0) += 1;
    }
    let failed = exchanges.len() - counts[&Fault::None];
    println!("seed {SEED}: {counts:?}");
    assert!((45..=55).contains(&(100 * failed / exchanges.len())), "{counts:?}");
    assert!(exchanges.iter().any(|exchange| exchange.answer.as_ref().is_some_and(Answer::is_replay)));
}

// Cases: R-01
// Reports: B63
async fn a_thousand_operations_over_a_network_that_fails_are_done_once_each<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let server = bench.start().await;
    let proxy = HttpProxy::start(server.address, fault::half(SEED)).await;
    let client = hasty().build();
    let items = (0..OPERATIONS).map(|number| format!("tea {number}")).collect::<Vec<_>>();
    let open = items.iter().map(|item| (item.clone(), order(proxy.address, item))).collect::<Vec<_>>();
    let open = Arc::new(Mutex::new(open));

    let workers = (0..AT_A_TIME).map(|_| {
        let (client, open) = (client.clone(), Arc::clone(&open));
        async move {
            let mut outcomes = Vec::new();
            loop {
                let next = open.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some((item, operation)) = next else { return outcomes };
                outcomes.push((item, client.send(&operation).await.expect("it is answered in the end")));
            }
        }
    });
    let outcomes = within(LONG, workers.collect::<JoinSet<_>>().join_all()).await;

    let outcomes = outcomes.into_iter().flatten().collect::<BTreeMap<_, _>>();
    for item in &items {
        let (outcome, id) = (&outcomes[item], bench.only_row("orders", "item", item).await);
        assert_eq!(outcome.status(), StatusCode::CREATED, "{outcome:?}");
        let body: JsonValue = outcome.answer().json().expect("JSON");
        assert_eq!(body, json!({ "id": id, "item": item, "qty": 1 }));
    }
    bench.assert_holds(OPERATIONS, i64::try_from(OPERATIONS).expect("a small number")).await;
    assert_eq!(usize::try_from(server.runs()), Ok(OPERATIONS));
    proxy.assert_one_key_and_one_answer_each(OPERATIONS);
    let attempts = outcomes.values().map(|outcome| usize::try_from(outcome.attempts()).expect("a few"));
    assert!(attempts.sum::<usize>() >= proxy.exchanges().len(), "every attempt is counted");
    assert_half_failed(&proxy);
}

/// Starts the sender, and kills it (SIGKILL) when it has done so many more operations. Says whether it was done before.
async fn run_sender(directory: &Path, until: usize) -> bool {
    let mut sender = Command::new(SENDER)
        .args([directory.join("operations"), directory.join("outcomes")])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the sender is built and starts");
    let mut lines = BufReader::new(sender.stdout.take().expect("it is piped")).lines();
    for _ in 0..until {
        if within(LONG, lines.next_line()).await.expect("it writes text").is_none() {
            let status = soon(sender.wait()).await.expect("it is this test's own");
            assert!(status.success(), "{status}");
            return true;
        }
    }
    soon(sender.kill()).await.expect("it is this test's own");
    false
}

// Reports: B64
async fn a_sender_that_is_killed_and_started_again_does_each_operation_once<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let server = bench.start().await;
    let proxy = HttpProxy::start(server.address, fault::half(SEED)).await;
    let directory = Directory::make(DB::NAME);
    let items = (0..OPERATIONS).map(|number| format!("tea {number}")).collect::<Vec<_>>();
    let mut lines = String::new();
    let mut item_of = BTreeMap::new();
    for item in &items {
        let operation = order(proxy.address, item);
        writeln!(lines, "{}", serde_json::to_string(&operation).expect("it can be kept")).expect("a string");
        item_of.insert(operation.key().as_str().to_owned(), item);
    }
    fs::write(directory.0.join("operations"), lines).expect("the directory is writable");

    let (mut random, mut kills) = (Random::new(SEED), 0);
    while !run_sender(&directory.0, 1 + random.below(150)).await {
        kills += 1;
    }

    let outcomes = fs::read_to_string(directory.0.join("outcomes")).expect("the sender has written it");
    let outcomes =
        outcomes.lines().map(|line| serde_json::from_str::<JsonValue>(line).expect("a whole line"));
    let mut outcomes = outcomes.collect::<Vec<_>>();
    outcomes.sort_by_key(|outcome| outcome["key"].to_string());
    outcomes.dedup_by_key(|outcome| outcome["key"].to_string());
    assert_eq!(outcomes.len(), OPERATIONS);
    for outcome in outcomes {
        let item = item_of[outcome["key"].as_str().expect("a key")];
        let id = bench.only_row("orders", "item", item).await;
        assert_eq!(outcome["status"], 201, "{outcome}");
        assert_eq!(outcome["body"], json!({ "id": id, "item": item, "qty": 1 }));
    }
    bench.assert_holds(OPERATIONS, i64::try_from(OPERATIONS).expect("a small number")).await;
    assert_eq!(usize::try_from(server.runs()), Ok(OPERATIONS));
    proxy.assert_one_key_and_one_answer_each(OPERATIONS);
    assert_half_failed(&proxy);
    println!("killed {kills} times");
    assert!(kills >= 5, "killed {kills} times");
}

/// A directory of this test's own, which is gone afterwards.
struct Directory(PathBuf);

impl Directory {
    fn make(name: &str) -> Self {
        let path = env::temp_dir().join(format!("idem-sender-{name}-{}", process::id()));
        fs::create_dir(&path).expect("the directory for temporary files is writable");
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

// --- what the server says ------------------------------------------------------------------------------

// Cases: R-02
async fn a_hundred_sendings_of_an_operation_are_one_order<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let (client, operation) = (hasty().build(), order(server.address, "tea"));

    let first = client.send(&operation).await.expect("an answer");
    for _ in 1..100 {
        let again = client.send(&operation).await.expect("an answer");
        assert_eq!((again.status(), again.answer().body()), (first.status(), first.answer().body()));
        assert_eq!((again.is_replay(), again.attempts()), (true, 1));
    }

    assert!(!first.is_replay());
    bench.assert_holds(1, 1).await;
}

// Cases: C-11, E-09
async fn a_double_click_is_one_order_and_both_are_told_of_it<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let proxy = HttpProxy::start(server.address, fault::none()).await;
    // With the default settings: the server asks for a second, and the duplicate keeps away so long.
    let client = IdempotentClient::new(http());
    let operation = Operation::new(post(proxy.address, "/slow", "tea")).expect("an operation");
    let open_gate = async {
        proxy.answered(409).await;
        let told = Instant::now();
        server.gate().open();
        told
    };

    let (one, other, told) = tokio::join!(client.send(&operation), client.send(&operation), open_gate);

    let waited = told.elapsed();
    let (one, other) = (one.expect("an answer"), other.expect("an answer"));
    assert_eq!(one.answer().body(), other.answer().body());
    let mut replays = [one, other].map(|outcome| (outcome.is_replay(), outcome.attempts()));
    replays.sort_unstable();
    assert_eq!(replays, [(false, 1), (true, 2)]);
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
    bench.assert_holds(1, 1).await;
}

// Cases: F-01, F-04
async fn a_key_that_was_used_for_another_request_is_refused_once<DB: TestDatabase>(bench: &Bench<DB>) {
    for status in [StatusCode::UNPROCESSABLE_ENTITY, StatusCode::CONFLICT] {
        let server = bench.server().engine(move |builder| builder.mismatch(status)).start().await;
        let client = hasty().build();
        let keyed = |item| {
            let builder = Operation::builder(post(server.address, "/orders", item));
            builder.key(status.as_str()).build().expect("an operation")
        };

        client.send(&keyed("tea")).await.expect("an answer");
        let other = client.send(&keyed("rum")).await.expect("an answer");

        assert_eq!((other.status(), other.attempts()), (status, 1));
        let problem = other.answer().problem().expect("a problem");
        assert_eq!(problem.code(), Some("idempotency_key_reused"));
    }
    assert_eq!(bench.count("orders").await, 2);
}

// Cases: R-07
async fn what_the_server_has_decided_is_the_answer_however_it_reads<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let proxy = HttpProxy::start(server.address, fault::first(Fault::DropAnswer)).await;
    let client = hasty().build();

    // A declined card, and an error that the handler returns as its answer: both are on record.
    for (path, status) in [("/declined", 402), ("/boom", 500)] {
        let operation = Operation::new(post(proxy.address, path, path)).expect("an operation");
        let outcome = client.send(&operation).await.expect("an answer");

        assert_eq!((outcome.status().as_u16(), outcome.is_replay()), (status, true), "{path}");
        assert_eq!(outcome.attempts(), 2, "{path}");
    }
    assert_eq!(server.runs(), 2);
}

async fn a_call_that_is_dropped_leaves_the_operation_to_be_sent_again<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let client = hasty().build();
    let operation = Operation::new(post(server.address, "/slow", "tea")).expect("an operation");

    tokio::select! {
        outcome = client.send(&operation) => panic!("the gate is closed: {outcome:?}"),
        () = soon(server.gate().arrivals(1)) => {}
    }
    server.gate().open();
    let outcome = client.send(&operation).await.expect("an answer");

    assert_eq!((outcome.status(), outcome.is_replay()), (StatusCode::CREATED, true));
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Reports: B64
async fn an_operation_that_was_given_up_is_resumed_from_what_was_kept<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let proxy = HttpProxy::start(server.address, fault::first(Fault::CutAnswer)).await;
    let operation = Operation::builder(post(proxy.address, "/orders", "tea")).key("order-17").build();
    let operation = operation.expect("an operation");

    let gave_up = gave_up(hasty().max_attempts(1).build().send(&operation).await);
    assert_eq!((gave_up.attempts(), gave_up.limit()), (1, Limit::Attempts));
    assert!(matches!(gave_up.last(), Last::Failure(_)), "{gave_up:?}");
    let kept = serde_json::to_string(&gave_up.into_operation()).expect("it can be kept");
    let resumed: Operation = serde_json::from_str(&kept).expect("what was kept");
    let outcome = hasty().build().send(&resumed).await.expect("an answer");

    assert_eq!(resumed, operation);
    assert_eq!((outcome.status(), outcome.is_replay()), (StatusCode::CREATED, true));
    assert!(proxy.exchanges().iter().all(|exchange| exchange.key.as_deref() == Some("\"order-17\"")));
    bench.assert_holds(1, 1).await;
}

on_both_databases! {
    a_thousand_operations_over_a_network_that_fails_are_done_once_each
    a_sender_that_is_killed_and_started_again_does_each_operation_once
    a_hundred_sendings_of_an_operation_are_one_order
    a_double_click_is_one_order_and_both_are_told_of_it
    a_key_that_was_used_for_another_request_is_refused_once
    what_the_server_has_decided_is_the_answer_however_it_reads
    a_call_that_is_dropped_leaves_the_operation_to_be_sent_again
    an_operation_that_was_given_up_is_resumed_from_what_was_kept
}
