//! The metrics, by the facade `metrics`; without the feature, nothing.
//!
//! A handle is registered each time that it is used: one that is kept would go on counting for the recorder that was
//! there first, or for none. What a recorder needs for it is a name that never changes and labels that are cheap to
//! clone.

#[cfg(all(feature = "axum", feature = "metrics"))]
use std::sync::Arc;
#[cfg(all(feature = "axum", feature = "metrics"))]
use std::time::Instant;

#[cfg(all(feature = "axum", feature = "metrics"))]
use metrics::SharedString;
#[cfg(feature = "metrics")]
use metrics::Unit;

#[cfg(feature = "axum")]
use super::Endpoint;
use super::MessageOutcome;
#[cfg(feature = "axum")]
use super::outcome::RequestOutcome;

#[cfg(feature = "metrics")]
const REQUESTS: &str = "idempotency_requests_total";
#[cfg(feature = "metrics")]
const MESSAGES: &str = "idempotency_messages_total";
#[cfg(feature = "metrics")]
const SWEPT_ROWS: &str = "idempotency_swept_rows_total";

/// A part of a request's life whose time is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "metrics"), allow(dead_code))]
pub(crate) enum Step {
    Wait,
    Acquire,
    Reserve,
    Execute,
    Record,
    Finalize,
}

#[cfg(feature = "metrics")]
impl Step {
    const ALL: [Self; 6] =
        [Self::Wait, Self::Acquire, Self::Reserve, Self::Execute, Self::Record, Self::Finalize];

    const fn metric(self) -> &'static str {
        match self {
            Self::Wait => "idempotency_wait_seconds",
            Self::Acquire => "idempotency_acquire_seconds",
            Self::Reserve => "idempotency_reserve_seconds",
            Self::Execute => "idempotency_execute_seconds",
            Self::Record => "idempotency_record_seconds",
            Self::Finalize => "idempotency_finalize_seconds",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Wait => "How long a request waited for another one with its idempotency key.",
            Self::Acquire => "How long a request waited for a pooled connection.",
            Self::Reserve => "How long an attempt to reserve an idempotency key took, from BEGIN.",
            Self::Execute => "How long a handler ran.",
            Self::Record => "How long it took to put an answer into its key row, or to roll back.",
            Self::Finalize => "How long COMMIT took, or the storing of a failed answer.",
        }
    }
}

/// Tells the recorder that is installed what the metrics are. Engines do so when they are built.
pub(crate) fn describe() {
    #[cfg(feature = "metrics")]
    {
        let requests = "Requests to idempotent handlers by their outcome.";
        metrics::describe_counter!(REQUESTS, Unit::Count, requests);
        for step in Step::ALL {
            metrics::describe_histogram!(step.metric(), Unit::Seconds, step.description());
        }
        metrics::describe_counter!(MESSAGES, Unit::Count, "Messages to consumers by their outcome.");
        metrics::describe_counter!(SWEPT_ROWS, Unit::Count, "Expired key rows that were deleted.");
    }
}

/// Counts and times the requests of one endpoint.
#[cfg(feature = "axum")]
#[derive(Debug)]
pub(super) struct Meter {
    #[cfg(feature = "metrics")]
    endpoint: SharedString,
}

#[cfg(feature = "axum")]
#[cfg_attr(not(feature = "metrics"), allow(unused_variables, clippy::unused_self))]
impl Meter {
    pub(super) fn new(endpoint: Endpoint<'_>) -> Self {
        Self {
            #[cfg(feature = "metrics")]
            endpoint: match endpoint {
                Endpoint::Named(name) => SharedString::const_str(name),
                Endpoint::Unmatched => SharedString::const_str(Endpoint::UNMATCHED),
                Endpoint::Route(..) => SharedString::from_shared(Arc::from(endpoint.to_string())),
            },
        }
    }

    pub(super) fn count(&self, outcome: RequestOutcome) {
        #[cfg(feature = "metrics")]
        {
            let endpoint = self.endpoint.clone();
            metrics::counter!(REQUESTS, "outcome" => outcome.as_str(), "endpoint" => endpoint).increment(1);
        }
    }

    pub(super) fn record(&self, step: Step, timer: Timer) {
        #[cfg(feature = "metrics")]
        {
            let endpoint = self.endpoint.clone();
            metrics::histogram!(step.metric(), "endpoint" => endpoint).record(timer.0.elapsed());
        }
    }
}

/// When a step began; nothing where nobody measures.
#[cfg(feature = "axum")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer(#[cfg(feature = "metrics")] Instant);

#[cfg(feature = "axum")]
impl Timer {
    pub(crate) fn start() -> Self {
        Self(
            #[cfg(feature = "metrics")]
            Instant::now(),
        )
    }
}

#[cfg_attr(not(feature = "metrics"), allow(unused_variables))]
pub(super) fn message(consumer: &str, outcome: MessageOutcome) {
    #[cfg(feature = "metrics")]
    metrics::counter!(MESSAGES, "outcome" => outcome.as_str(), "consumer" => consumer.to_owned())
        .increment(1);
}

#[cfg_attr(not(feature = "metrics"), allow(unused_variables))]
pub(super) fn swept(rows: u64) {
    #[cfg(feature = "metrics")]
    metrics::counter!(SWEPT_ROWS).increment(rows);
}
