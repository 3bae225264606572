//! Messages, each processed once.

use std::time::Duration;

use idem_runtime::{Consumed, Inbox, InboxError};
use sqlx::Connection as _;
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::consumer::{Consumer, Failure, QUEUE, apply};
use crate::database::{Place as _, TestDatabase};
use crate::patience::soon;

/// The default TTL, in seconds: 15 days.
const TTL_SECS: i64 = 15 * 86_400;

// Cases: W-14
pub async fn a_message_is_processed_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;

    let first = consumer.consume("m-1").await.expect("the database works");
    let again = consumer.consume("m-1").await.expect("the database works");

    assert_eq!((first, again), (Consumed::Now(()), Consumed::Before));
    assert!(again.is_duplicate() && first.now().is_some());
    assert_eq!(bench.count("audit").await, 1);
}

// Cases: W-14
pub async fn nothing_of_a_message_shows_before_it_may_be_acknowledged<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;

    let work = async |tx: &mut DB::Connection| {
        apply::<DB>(tx, "m-1").await?;
        Ok::<_, InboxError>((bench.count("audit").await, bench.key_rows().await.len()))
    };
    let shown = consumer.inbox.consume(QUEUE, "m-1", work).await.expect("the database works");

    assert_eq!(shown, Consumed::Now((0, 0)));
    assert_eq!((bench.count("audit").await, bench.key_rows().await.len()), (1, 1));
}

pub async fn consumers_of_one_message_process_it_once_each<DB: TestDatabase>(bench: &Bench<DB>) {
    let billing = Consumer::start(bench, "billing").await;
    let mailing = Consumer::of(billing.app.clone(), "mailing");

    for (consumer, expected) in [
        (&billing, Consumed::Now(())),
        (&mailing, Consumed::Now(())),
        (&billing, Consumed::Before),
        (&mailing, Consumed::Before),
    ] {
        assert_eq!(consumer.consume("m-1").await.expect("the database works"), expected);
    }
    assert_eq!(bench.count("audit").await, 2);
}

pub async fn the_same_id_of_another_source_is_another_message<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;
    let from = async |source: &str| {
        let work = async |tx: &mut DB::Connection| Ok::<_, InboxError>(apply::<DB>(tx, source).await?);
        consumer.inbox.consume(source, "m-1", work).await.expect("the database works")
    };

    assert_eq!(from("orders").await, Consumed::Now(()));
    assert_eq!(from("refunds").await, Consumed::Now(()));
    assert_eq!(from("orders").await, Consumed::Before);
    assert_eq!(bench.count("audit").await, 2);
}

// Cases: W-16
pub async fn a_message_without_an_id_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;
    let work = async |tx: &mut DB::Connection| Ok(apply::<DB>(tx, "m").await?);

    let missing = consumer.inbox.consume(QUEUE, &None::<String>, work).await;
    assert!(matches!(missing, Err(InboxError::MessageIdMissing)), "{missing:?}");
    for blank in ["", "  ", "\t"] {
        let refused = consumer.consume(blank).await;
        assert!(matches!(refused, Err(InboxError::MessageIdMissing)), "{blank:?}: {refused:?}");
    }
    let mut tx = consumer.begin().await;
    let refused = consumer.inbox.claim(&mut tx, QUEUE, "").await;
    assert!(matches!(refused, Err(InboxError::MessageIdMissing)), "{refused:?}");
    tx.rollback().await.expect("the connection works");
    assert!(matches!(consumer.inbox.find(QUEUE, "").await, Err(InboxError::MessageIdMissing)));

    assert_eq!((bench.count("audit").await, bench.key_rows().await.len()), (0, 0));
}

pub async fn an_id_is_any_text<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;
    let longest = "ö".repeat(Inbox::<DB>::MAX_ID_LEN / 2);
    let ids = [r#"{"topic":"a","offset":7}"#, "urn:ä/€?", "m", "M", " m", "m\n", &longest];

    for id in ids {
        assert_eq!(consumer.consume(id).await.expect("the database works"), Consumed::Now(()), "{id:?}");
    }
    for id in ids {
        assert_eq!(consumer.consume(id).await.expect("the database works"), Consumed::Before, "{id:?}");
    }

    let too_long = consumer.consume(&format!("{longest}o")).await;
    assert!(matches!(too_long, Err(InboxError::MessageIdTooLong)), "{too_long:?}");
    let with_nul = consumer.consume("a\0b").await;
    assert!(matches!(with_nul, Err(InboxError::MessageIdNul)), "{with_nul:?}");
    assert_eq!(bench.key_rows().await.len(), ids.len());
}

// Reports: B47
pub async fn a_message_comes_again_until_its_work_succeeds<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;
    let other_process = Consumer::start(bench, "billing").await;

    // Handed back, put into the queue anew, and tried again later by another process.
    for consumer in [&consumer, &consumer, &other_process] {
        let failure = consumer.fail("m-1").await;
        assert!(matches!(failure, Failure::Work), "{failure:?}");
        assert_eq!((bench.count("audit").await, bench.key_rows().await.len()), (0, 0));
    }
    // Out of the dead-letter queue.
    let replayed = consumer.consume("m-1").await.expect("the database works");
    let duplicate = other_process.consume("m-1").await.expect("the database works");

    assert_eq!((replayed, duplicate), (Consumed::Now(()), Consumed::Before));
    assert_eq!(bench.count("audit").await, 1);
}

// Reports: B39
pub async fn a_message_that_two_processes_consume_at_once_is_processed_once<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    const ROUNDS: i64 = 50;
    let consumers = [Consumer::start(bench, "billing").await, Consumer::start(bench, "billing").await];

    for round in 0..ROUNDS {
        let mut both = JoinSet::new();
        for consumer in consumers.clone() {
            both.spawn(async move { consumer.consume(&format!("m-{round}")).await });
        }
        let mut came_to: Vec<_> =
            soon(both.join_all()).await.into_iter().map(|outcome| outcome.expect("no error")).collect();

        came_to.sort_by_key(Consumed::is_duplicate);
        assert_eq!(came_to, [Consumed::Now(()), Consumed::Before], "round {round}");
    }
    assert_eq!(bench.count("audit").await, ROUNDS);
}

pub async fn a_message_that_has_expired_is_processed_again<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;
    assert_eq!(consumer.consume("m-1").await.expect("the database works"), Consumed::Now(()));
    let old = bench.key_row().await;
    bench.expire_in(-1).await;

    assert!(consumer.inbox.find(QUEUE, "m-1").await.expect("the database works").is_none());
    // A claim that fails leaves the old row as it was.
    assert!(matches!(consumer.fail("m-1").await, Failure::Work));
    assert_eq!(bench.key_row().await.created_at, old.created_at);
    let again = consumer.consume("m-1").await.expect("the database works");
    let once_more = consumer.consume("m-1").await.expect("the database works");

    assert_eq!((again, once_more), (Consumed::Now(()), Consumed::Before));
    let row = bench.key_row().await;
    assert!(row.created_at > old.created_at && row.completed_at > old.completed_at, "{old:?}, {row:?}");
    assert_eq!(row.ttl_secs(), TTL_SECS);
    assert_eq!(bench.count("audit").await, 2);
}

pub async fn the_row_of_a_message_is_complete_without_an_answer<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;
    assert_eq!(consumer.consume("m-1").await.expect("the database works"), Consumed::Now(()));

    let row = bench.key_row().await;
    let found = consumer.inbox.find(QUEUE, "m-1").await.expect("the database works").expect("it is there");

    assert_eq!((row.scope.as_str(), row.key.as_str()), ("consumer=billing&source=queue", "m-1"));
    assert_eq!((row.status, &row.headers, &row.body), (None, &None, &None));
    assert!(row.completed_at >= Some(row.created_at), "{row:?}");
    assert_eq!(row.ttl_secs(), TTL_SECS);
    assert!(found.response.is_none() && !found.is_broken());
    assert_eq!(found.created_at_micros, row.created_at);
    assert_eq!(found.completed_at_micros, row.completed_at);
    assert_eq!(found.expires_at_micros, row.expires_at);
}

pub async fn a_forgotten_message_is_processed_again<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;
    let forget = async || consumer.inbox.forget(QUEUE, "m-1").await.expect("the database works");

    assert!(!forget().await, "never seen");
    assert_eq!(consumer.consume("m-1").await.expect("the database works"), Consumed::Now(()));
    assert!(forget().await, "processed");
    assert!(consumer.inbox.find(QUEUE, "m-1").await.expect("the database works").is_none());

    assert_eq!(consumer.consume("m-1").await.expect("the database works"), Consumed::Now(()));
    assert_eq!(bench.count("audit").await, 2);
}

pub async fn a_row_of_something_else_under_the_same_id_is_not_taken_for_a_duplicate<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let consumer = Consumer::start(bench, "billing").await;
    assert_eq!(consumer.consume("m-1").await.expect("the database works"), Consumed::Now(()));
    let table = bench.place.key_table();

    // As if the digest of another message's parts began with the same bytes.
    for other in ["key = 'm-2'", "key = 'm-1', scope = 'consumer=mailing&source=queue'"] {
        bench.place.execute(&format!("UPDATE {table} SET {other}")).await;
        let refused = consumer.consume("m-1").await;

        assert!(matches!(refused, Err(InboxError::Collision)), "{refused:?}");
        assert!(consumer.inbox.find(QUEUE, "m-1").await.expect("the database works").is_none());
        assert!(!consumer.inbox.forget(QUEUE, "m-1").await.expect("the database works"));
    }
    assert_eq!(bench.count("audit").await, 1);
}

pub async fn a_message_is_remembered_as_long_as_the_consumer_says<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;

    for (id, ttl, secs) in [
        ("a", Duration::from_hours(48), 172_800),
        ("b", Duration::from_millis(1_001), 2),
        ("c", Duration::MAX, 10 * 365 * 86_400),
    ] {
        let inbox = consumer.inbox.clone().ttl(ttl);
        let outcome = Consumer { app: consumer.app.clone(), inbox }.consume(id).await;

        assert_eq!(outcome.expect("the database works"), Consumed::Now(()));
        let row = bench.key_rows().await.into_iter().find(|row| row.key == id).expect("it is kept");
        assert_eq!(row.ttl_secs(), secs, "{ttl:?}");
    }
}

pub async fn what_an_inbox_was_told_is_kept_within_its_bounds<DB: TestDatabase>(bench: &Bench<DB>) {
    let inbox = bench.server().app().await.idempotency.inbox("billing");
    let told = |inbox: Inbox<DB>| format!("{inbox:?}");

    assert_eq!(told(inbox.clone()), r#"Inbox { consumer: "billing", ttl_secs: 1296000, wait: 10s, .. }"#);
    for (wait, kept) in [
        (Duration::ZERO, "wait: 50ms,"),
        (Duration::from_secs(30), "wait: 30s,"),
        (Duration::MAX, "wait: 3600s,"),
    ] {
        let told = told(inbox.clone().wait(wait));
        assert!(told.contains(kept), "{wait:?}: {told}");
    }
}

// Cases: T-23
pub async fn a_message_is_not_processed_where_the_table_will_not_do<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::of(bench.server().unmigrated().app().await, "billing");

    let refused = consumer.consume("m-1").await;
    let mut tx = consumer.begin().await;
    let unclaimed = consumer.inbox.claim(&mut tx, QUEUE, "m-1").await;
    tx.rollback().await.expect("the connection works");
    consumer.app.idempotency.migrate().await.expect("the key table can be created");

    assert!(matches!(refused, Err(InboxError::Misconfigured(_))), "{refused:?}");
    assert!(matches!(unclaimed, Err(InboxError::Misconfigured(_))), "{unclaimed:?}");
    assert_eq!(bench.count("audit").await, 0);
    assert_eq!(consumer.consume("m-1").await.expect("the database works"), Consumed::Now(()));
}

pub async fn a_message_that_gets_no_connection_is_left_to_its_queue<DB: TestDatabase>(bench: &Bench<DB>) {
    let launch = bench.server().connections(1);
    let app = launch.engine(|builder| builder.acquire_timeout(Duration::from_millis(100))).app().await;
    let consumer = Consumer::of(app, "billing");
    let mut only = soon(consumer.app.writer.acquire()).await.expect("a connection is free");

    let refused = consumer.consume("m-1").await;
    soon(only.ping()).await.expect("the connection works");
    drop(only);

    let timed_out = matches!(&refused, Err(InboxError::Store(sqlx::Error::PoolTimedOut)));
    assert!(timed_out, "{refused:?}");
    assert_eq!(consumer.consume("m-1").await.expect("the database works"), Consumed::Now(()));
}
