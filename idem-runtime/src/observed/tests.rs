//! What is measured without a database: names, descriptions, and what dropping a request means.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use super::*;

const PAGE: &str = include_str!("../../../docs/observability.md");

/// Keeps what it is told of the metrics, and nothing that is measured.
#[derive(Default)]
struct Described(RefCell<BTreeMap<String, (&'static str, Option<Unit>)>>);

impl Described {
    fn put(&self, kind: &'static str, name: &KeyName, unit: Option<Unit>, description: &str) {
        assert!(description.ends_with('.'), "{description}");
        let before = self.0.borrow_mut().insert(name.as_str().to_owned(), (kind, unit));
        assert_eq!(before, None, "{name:?} twice");
    }
}

impl Recorder for Described {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, description: SharedString) {
        self.put("counter", &name, unit, &description);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, description: SharedString) {
        self.put("gauge", &name, unit, &description);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, description: SharedString) {
        self.put("histogram", &name, unit, &description);
    }

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[test]
fn the_page_lists_every_metric_with_its_kind() {
    let described = Described::default();
    metrics::with_local_recorder(&described, describe);

    let rows = PAGE.lines().filter(|line| line.starts_with("| `idempotency_"));
    let listed: BTreeMap<_, _> = rows
        .map(|row| {
            let cells: Vec<_> = row.split('|').map(str::trim).collect();
            (cells[1].trim_matches('`').to_owned(), cells[2].to_owned())
        })
        .collect();
    let described = described.0.into_inner();
    let kinds: BTreeMap<_, _> =
        described.iter().map(|(name, (kind, _))| (name.clone(), (*kind).to_owned())).collect();
    assert_eq!(listed, kinds);
    for (name, (_, unit)) in described {
        let expected = if name.ends_with("_seconds") { Unit::Seconds } else { Unit::Count };
        assert_eq!(unit, Some(expected), "{name}");
    }
}

/// The outcomes that are counted while `work` has a request to `POST /orders`.
fn outcomes(work: impl FnOnce(Observed)) -> BTreeSet<String> {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || {
        work(Observed::begin(Endpoint::Route(&Method::POST, "/orders")));
    });
    let snapshot = recorder.snapshotter().snapshot().into_vec();
    let outcomes = snapshot.into_iter().map(|(key, _, _, value)| {
        assert_eq!(value, DebugValue::Counter(1), "{key:?}");
        let outcome = key.key().labels().find(|label| label.key() == "outcome");
        outcome.expect("requests are counted by outcome").value().to_owned()
    });
    outcomes.collect()
}

#[test]
fn a_request_that_is_dropped_before_its_task_has_it_is_abandoned() {
    assert_eq!(outcomes(drop), BTreeSet::from(["abandoned".to_owned()]));
}

#[test]
fn a_request_that_is_dropped_with_its_task_has_an_unknown_outcome() {
    let dropped = outcomes(|mut observed| {
        observed.detached();
        drop(observed);
    });

    assert_eq!(dropped, BTreeSet::from(["outcome_unknown".to_owned()]));
}

#[test]
fn a_request_that_a_panic_takes_along_has_panicked() {
    let dropped = outcomes(|observed| {
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _observed = observed;
            panic!("the test was told to");
        }));
        assert!(panicked.is_err());
    });

    assert_eq!(dropped, BTreeSet::from(["panicked".to_owned()]));
}

#[test]
fn the_first_outcome_of_a_request_counts_and_only_once() {
    let counted = outcomes(|mut observed| {
        observed.detached();
        observed.abandoned();
        observed.panicked();
    });

    assert_eq!(counted, BTreeSet::from(["abandoned".to_owned()]));
}

#[test]
fn a_request_that_nobody_watches_is_not_counted() {
    let counted = outcomes(|mut observed| {
        let mut unwatched = Observed::default();
        unwatched.took(Step::Execute, Timer::start());
        unwatched.panicked();
        observed.panicked();
    });

    assert_eq!(counted, BTreeSet::from(["panicked".to_owned()]));
}
