//! What is counted and timed of requests, under a recorder of the test's own.
//!
//! It is the recorder of one thread, so each test stays on one.

#![expect(clippy::result_large_err, reason = "handlers answer with whole responses, failed or not")]

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::post;
use idem_examples::reference::{App, TenantId};
use idem_runtime::idempotent;
use idem_tests::bench::{Bench, run};
use idem_tests::consumer::{Consumer, QUEUE};
use idem_tests::database::TestDatabase;
use idem_tests::hand::Hand;
use idem_tests::http::r1;
use idem_tests::patience::eventually;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::ways::{self, Outcomes, Setting};
use metrics::Unit;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use sqlx::{Postgres, Sqlite, Transaction};

const PAGE: &str = include_str!("../../docs/observability.md");

/// The histograms of a request, in the order of its life.
const TIMES: [&str; 6] = [
    "idempotency_wait_seconds",
    "idempotency_acquire_seconds",
    "idempotency_reserve_seconds",
    "idempotency_execute_seconds",
    "idempotency_record_seconds",
    "idempotency_finalize_seconds",
];

/// What has been measured so far.
#[derive(Debug, Default)]
struct Measured {
    /// By outcome and endpoint.
    requests: BTreeMap<(String, String), u64>,
    /// By name and endpoint.
    times: BTreeMap<(String, String), usize>,
}

impl Measured {
    /// Adds what came since the last time, which the recorder forgets.
    fn update(&mut self, snapshotter: &Snapshotter) {
        for (key, unit, description, value) in snapshotter.snapshot().into_vec() {
            let (name, labels) = key.key().clone().into_parts();
            let labels: BTreeMap<_, _> =
                labels.iter().map(|label| (label.key().to_owned(), label.value().to_owned())).collect();
            assert!(description.is_some(), "{name:?} is described");
            let endpoint = labels.get("endpoint").expect("an endpoint").clone();
            match value {
                DebugValue::Counter(count) => {
                    assert_eq!((name.as_str(), unit), ("idempotency_requests_total", Some(Unit::Count)));
                    assert_eq!(labels.len(), 2, "{labels:?}");
                    *self.requests.entry((labels["outcome"].clone(), endpoint)).or_default() += count;
                }
                DebugValue::Histogram(seconds) => {
                    assert!(TIMES.contains(&name.as_str()), "{name:?}");
                    assert_eq!(unit, Some(Unit::Seconds), "{name:?}");
                    assert_eq!(labels.len(), 1, "{labels:?}");
                    // No step of these tests takes longer than a run limit or a wait.
                    assert!(
                        seconds.iter().all(|seconds| (0.0..30.0).contains(&**seconds)),
                        "{name:?}: {seconds:?}"
                    );
                    *self.times.entry((name.as_str().to_owned(), endpoint)).or_default() += seconds.len();
                }
                DebugValue::Gauge(_) => panic!("a gauge: {name:?}"),
            }
        }
    }

    fn outcomes(&self) -> BTreeMap<&str, u64> {
        let mut outcomes = BTreeMap::new();
        for ((outcome, _), count) in self.requests.iter().filter(|(_, count)| **count > 0) {
            *outcomes.entry(outcome.as_str()).or_default() += count;
        }
        outcomes
    }

    /// How many times there are of each step, in the order of [`TIMES`].
    fn steps(&self) -> [usize; 6] {
        TIMES.map(|name| {
            let times = self.times.iter().filter(|((candidate, _), _)| candidate == name);
            times.map(|(_, count)| count).sum()
        })
    }
}

/// Runs a test with the recorder of its thread.
async fn measured<DB: TestDatabase>(test: impl AsyncFnOnce(&Bench<DB>, &Snapshotter)) {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    run(async |bench: &Bench<DB>| test(bench, &snapshotter).await).await;
}

/// The words in the first column of the table under this heading, without their backticks.
fn listed(heading: &str) -> BTreeSet<&'static str> {
    let section =
        PAGE.split("\n## ").find(|section| section.starts_with(heading)).expect("the section is there");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    rows.collect()
}

async fn each_way_is_counted<DB: TestDatabase>() -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    measured(async |bench: &Bench<DB>, snapshotter: &Snapshotter| {
        let mut measured = Measured::default();
        let mut expected = BTreeMap::<&str, u64>::new();
        let setting = Setting::new(bench, "jane.doe@example.com", |router| router);
        let check = async |way: &str, outcomes: &Outcomes| {
            for outcome in outcomes {
                *expected.entry(outcome).or_default() += 1;
            }
            // The outcome of a client that has left comes a moment later.
            eventually(|| {
                measured.update(snapshotter);
                let count = measured.outcomes().values().sum::<u64>();
                ready(count >= expected.values().sum())
            })
            .await;
            assert_eq!(measured.outcomes(), expected, "{way}");
        };
        ways::go(&setting, check).await;

        let endpoints: BTreeSet<_> =
            measured.requests.keys().map(|(_, endpoint)| endpoint.as_str()).collect();
        assert_eq!(endpoints, BTreeSet::from(["POST /err", "POST /orders", "POST /slow"]));
        assert!(measured.steps().iter().all(|count| *count > 0), "{:?}", measured.times);
        seen.extend(measured.outcomes().into_keys().map(str::to_owned));
    })
    .await;
    seen
}

#[tokio::test]
async fn each_way_in_which_a_request_ends_is_counted_as_the_page_lists_it() {
    let mut outcomes = each_way_is_counted::<Postgres>().await;
    outcomes.extend(each_way_is_counted::<Sqlite>().await);

    let listed = listed("Outcomes");
    assert_eq!(outcomes.iter().map(String::as_str).collect::<BTreeSet<_>>(), listed);
}

#[test]
fn the_page_lists_the_times_of_a_request() {
    let listed = listed("Metrics");

    assert!(TIMES.iter().all(|name| listed.contains(name)), "{listed:?}");
    assert!(listed.contains("idempotency_requests_total"), "{listed:?}");
}

async fn steps_are_timed<DB: TestDatabase>() {
    measured(async |bench: &Bench<DB>, snapshotter: &Snapshotter| {
        let server = bench.start().await;
        let mut measured = Measured::default();
        let mut steps = || {
            let before = measured.steps();
            measured.update(snapshotter);
            let after = measured.steps();
            std::array::from_fn::<_, 6, _>(|step| after[step] - before[step])
        };

        //                   wait, acquire, reserve, execute, record, finalize
        let first = server.send(&r1()).await;
        assert_ran(&first, 201);
        assert_eq!(steps(), [0, 1, 1, 1, 1, 1], "a run");

        assert_replays(&first, &server.send(&r1()).await);
        assert_eq!(steps(), [0, 1, 1, 0, 0, 0], "a replay");

        assert_ran(&server.send(&r1().path("/err")).await, 422);
        assert_eq!(steps(), [0, 1, 1, 1, 1, 1], "a failed answer that is stored");

        assert_problem(&server.send(&r1().without("Idempotency-Key")).await, "idempotency_key_missing");
        assert_eq!(steps(), [0; 6], "without a key that it needs");
    })
    .await;
}

#[tokio::test]
async fn the_steps_that_a_request_takes_are_timed() {
    steps_are_timed::<Postgres>().await;
    steps_are_timed::<Sqlite>().await;
}

#[idempotent(scope = "tenant")]
async fn anything<DB: TestDatabase>(_tx: &mut Transaction<'_, DB>, tenant: TenantId) -> StatusCode {
    StatusCode::CREATED
}

async fn endpoints_are_bounded<DB: TestDatabase>() {
    measured(async |bench: &Bench<DB>, snapshotter: &Snapshotter| {
        let named = Hand::new(|_, _| Ok(StatusCode::CREATED.into_response())).routes_as("orders.create");
        let anything = Router::<App<DB>>::new()
            .route("/things/{id}", axum::routing::any(anything::<DB>))
            .fallback(post(anything::<DB>));
        let server = bench.server().routes(named.merge(anything)).start().await;

        for (method, path) in
            [("POST", "/orders"), ("POST", "/things/17"), ("X-0001", "/things/18"), ("POST", "/nowhere")]
        {
            assert_ran(&server.send(&r1().fresh_key().method(method).path(path)).await, 201);
        }

        let mut measured = Measured::default();
        measured.update(snapshotter);
        let endpoints: Vec<_> = measured.requests.keys().map(|(_, endpoint)| endpoint.as_str()).collect();
        assert_eq!(endpoints, ["OTHER /things/{id}", "POST /things/{id}", "orders.create", "unmatched"]);
    })
    .await;
}

#[tokio::test]
async fn a_label_is_one_of_as_many_as_there_are_endpoints() {
    endpoints_are_bounded::<Postgres>().await;
    endpoints_are_bounded::<Sqlite>().await;
}

/// What was counted beside requests, as an exporter writes it.
fn counted_beside_requests(snapshotter: &Snapshotter) -> BTreeMap<String, u64> {
    let mut counters = BTreeMap::new();
    for (key, unit, description, value) in snapshotter.snapshot().into_vec() {
        let labels: Vec<_> =
            key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let DebugValue::Counter(count) = value else { panic!("{key:?} is no counter") };
        assert_eq!((unit, description.is_some()), (Some(Unit::Count), true), "{key:?}");
        counters.insert(format!("{}{{{}}}", key.key().name(), labels.join(",")), count);
    }
    counters
}

async fn messages_and_swept_rows<DB: TestDatabase>() {
    measured(async |bench: &Bench<DB>, snapshotter: &Snapshotter| {
        let consumer = Consumer::start(bench, "billing").await;
        for message in ["m-1", "m-1", "m-2"] {
            consumer.consume(message).await.expect("it is processed");
        }
        consumer.consume("").await.expect_err("it has no id");
        let mut tx = consumer.begin().await;
        let claim = consumer.inbox.claim(&mut tx, QUEUE, "m-3").await.expect("it is claimed");
        assert!(!claim.is_duplicate());
        tx.rollback().await.expect("it is rolled back");
        let mut connection = consumer.app.writer.acquire().await.expect("a connection is free");
        let outside = consumer.inbox.claim(&mut connection, QUEUE, "m-3").await;
        outside.expect_err("it is in no transaction");
        drop(connection);
        bench.expire_in(-1).await;
        assert_eq!(consumer.app.idempotency.sweep_once().await.expect("the database is there"), 2);

        let messages = |outcome| format!("idempotency_messages_total{{outcome={outcome},consumer=billing}}");
        let mut expected = BTreeMap::from([
            (messages("claimed"), 3),
            (messages("duplicate"), 1),
            (messages("rejected"), 1),
            (messages("failed"), 1),
            ("idempotency_swept_rows_total{}".to_owned(), 2),
        ]);
        if DB::WRITES_IN_PARALLEL {
            // Elsewhere whoever is held up waits for BEGIN.
            let mut tx = consumer.begin().await;
            let claim = consumer.inbox.claim(&mut tx, QUEUE, "m-4").await.expect("it is claimed");
            assert!(!claim.is_duplicate());
            let hasty = Consumer { inbox: consumer.inbox.clone().wait(Duration::ZERO), ..consumer.clone() };
            hasty.consume("m-4").await.expect_err("it is held");
            tx.rollback().await.expect("it is rolled back");
            expected.insert(messages("claimed"), 4);
            expected.insert(messages("in_progress"), 1);
        }
        assert_eq!(counted_beside_requests(snapshotter), expected);
        let listed = listed("Metrics");
        for name in expected.keys() {
            assert!(listed.contains(name.split('{').next().expect("a name")), "{name} is on the page");
        }
    })
    .await;
}

#[tokio::test]
async fn messages_are_counted_by_their_claim_and_rows_as_they_are_swept() {
    messages_and_swept_rows::<Postgres>().await;
    messages_and_swept_rows::<Sqlite>().await;
}
