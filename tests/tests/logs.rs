//! What the logs say of a key that is personal data: nothing above level DEBUG.
//!
//! One subscriber for the process, so that everything is in it: also what sqlx says on threads of its own, and through
//! the crate `log`.

use std::io;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use idem_tests::bench::{Bench, run_on};
use idem_tests::database::{Place, TestDatabase};
use idem_tests::ways::{self, Setting};
use serde_json::Value as JsonValue;
use sqlx::{Postgres, Sqlite};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// What a subscriber has written. Its clones are one.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(bytes.clone()).expect("a log is text")
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The logs of this process, each in its own form.
struct Logs {
    /// As people read it, with a line for whatever happens to a span.
    plain: Log,
    /// As machines read it.
    json: Log,
    /// With everything that is said at level DEBUG.
    debug: Log,
}

static LOGS: LazyLock<Logs> = LazyLock::new(|| {
    let logs = Logs { plain: Log::default(), json: Log::default(), debug: Log::default() };
    let writer = |log: &Log| {
        let log = log.clone();
        move || log.clone()
    };
    let layer = || tracing_subscriber::fmt::layer().with_ansi(false).with_span_events(FmtSpan::FULL);
    let layers = vec![
        layer().with_writer(writer(&logs.plain)).with_filter(LevelFilter::INFO).boxed(),
        layer().json().with_writer(writer(&logs.json)).with_filter(LevelFilter::INFO).boxed(),
        layer().with_writer(writer(&logs.debug)).with_filter(LevelFilter::DEBUG).boxed(),
    ];
    tracing_subscriber::registry().with(layers).init();
    logs
});

/// Goes every way with `key`, an address that stands for a person. Nobody else has it, so the logs may be shared.
async fn no_log_says<DB: TestDatabase>(key: &'static str) {
    let logs = &*LOGS;
    let place = DB::Place::create().await.with_every_statement_slow();

    run_on(place, async |bench: &Bench<DB>| {
        ways::go(&Setting::new(bench, key, |router| router), async |_, _| {}).await;
    })
    .await;

    let (name, domain) = key.split_once('@').expect("an address");
    for log in [&logs.plain, &logs.json] {
        let log = log.text();
        for spelling in [key, &format!("{name}%40{domain}"), name] {
            let line = log.lines().find(|line| line.contains(spelling));
            assert_eq!(line, None, "`{spelling}` is in a log at level INFO");
        }
        // Or else there would be nothing in it anyway.
        for said in [
            "idempotency.outcome",
            "failed_unstored",
            "slow statement: execution time exceeded alert threshold",
            "an idempotency key cannot be reserved",
            "an answer cannot be recorded",
            "the answer of a rolled-back run cannot be stored",
            "a run cannot be committed",
            "two idempotency keys have the same row id",
            "a request cannot be fingerprinted",
            "work after COMMIT panicked",
            "the idempotency engine is off",
            "what an application may log",
        ] {
            assert!(log.contains(said), "no log says `{said}`");
        }
    }
    for line in logs.json.text().lines() {
        serde_json::from_str::<JsonValue>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }

    let debug = logs.debug.text();
    for said in [
        "a request has an idempotency key",
        "an error of the database in full",
        "an input without a canonical form in full",
        "a panic in full",
    ] {
        let says_both = debug.lines().any(|line| line.contains(said) && line.contains(key));
        assert!(says_both, "at level DEBUG `{said}` says the key");
    }
}

// Cases: E-10
// Reports: B67
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_log_at_level_info_says_a_key_on_postgres() {
    no_log_says::<Postgres>("jane.doe@example.com").await;
}

// Cases: E-10
// Reports: B67
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_log_at_level_info_says_a_key_on_sqlite() {
    no_log_says::<Sqlite>("joan.roe@example.org").await;
}
