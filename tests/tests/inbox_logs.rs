//! What of a message stands in logs: its id at debug level, and nowhere else.

use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use idem_runtime::{Consumed, InboxError};
use idem_tests::bench::Bench;
use idem_tests::consumer::{Consumer, QUEUE, apply};
use idem_tests::database::TestDatabase;
use idem_tests::patience::soon;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

idem_tests::on_both_databases!(the_id_of_a_message_is_logged_at_debug_level_only);

/// An id that is personal data.
const ID: &str = "somebody@example.com";

/// Keeps every line of this process, with its level.
#[derive(Debug, Default)]
struct Log(Mutex<Vec<(Level, String)>>);

/// A line in the making.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").expect("a string can be written to");
    }
}

impl Log {
    fn lines(&self) -> MutexGuard<'_, Vec<(Level, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, metadata: &Metadata<'_>, record: impl FnOnce(&mut Line)) {
        let mut line = Line(metadata.target().to_owned());
        record(&mut line);
        self.lines().push((*metadata.level(), line.0));
    }
}

/// The log, as a subscriber that is there for good.
struct Keeper(&'static Log);

impl Subscriber for Keeper {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.0.add(span.metadata(), |line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.0.add(event.metadata(), |line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn log() -> &'static Log {
    static LOG: OnceLock<&'static Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log: &'static Log = Box::leak(Box::default());
        tracing::subscriber::set_global_default(Keeper(log)).expect("nobody else has set one");
        log
    })
}

async fn the_id_of_a_message_is_logged_at_debug_level_only<DB: TestDatabase>(bench: &Bench<DB>) {
    let log = log();
    let consumer = Consumer::of(bench.server().unmigrated().app().await, "billing");

    // Whatever may become of one.
    let mut said = vec![consumer.consume(ID).await.expect_err("there is no table").to_string()];
    consumer.app.idempotency.migrate().await.expect("the key table can be created");
    said.push(consumer.fail(ID).await.to_string());
    for statement in ["INSERT INTO audit (tenant) VALUES (NULL)", "ROLLBACK"] {
        let work = async |tx: &mut DB::Connection| {
            drop(DB::execute(tx, statement, &[]).await);
            Ok::<_, InboxError>(())
        };
        match soon(consumer.inbox.consume(QUEUE, ID, work)).await {
            Ok(_) => assert!(consumer.inbox.forget(QUEUE, ID).await.expect("it works")),
            Err(error) => said.push(format!("{error} {error:?}")),
        }
    }
    let panicking = consumer.clone();
    let panicking = tokio::spawn(async move {
        let work = async |tx: &mut DB::Connection| {
            apply::<DB>(tx, "m").await?;
            panic!("the work panics");
        };
        panicking.inbox.consume::<(), InboxError, _, _, _>(QUEUE, ID, work).await
    });
    soon(panicking).await.expect_err("it panics");
    assert_eq!(consumer.consume(ID).await.expect("it works"), Consumed::Now(()));
    assert_eq!(consumer.consume(ID).await.expect("it works"), Consumed::Before);

    let lines = log.lines();
    let (debug, above): (Vec<_>, Vec<_>) =
        lines.iter().filter(|(_, line)| line.contains(ID)).partition(|(level, _)| *level >= Level::DEBUG);
    assert!(above.is_empty(), "{above:?}");
    assert!(debug.iter().any(|(_, line)| line.contains("outcome=\"duplicate\"")), "{debug:?}");
    assert!(!said.iter().any(|error| error.contains(ID)), "{said:?}");
}
