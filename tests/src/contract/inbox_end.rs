//! How the transaction of a message ends, and what is then kept.

use std::future::{pending, poll_fn};

use std::pin::pin;
use std::task::Poll;

use idem_examples::reference::Gate;
use idem_runtime::{Claim, Consumed, InboxError};
use sqlx::Connection as _;

use crate::bench::Bench;
use crate::consumer::{Consumer, QUEUE, apply};
use crate::database::{Place as _, TestDatabase};
use crate::patience::soon;

/// Asserts how many messages are kept, and how many effects.
async fn assert_kept<DB: TestDatabase>(bench: &Bench<DB>, messages: usize, effects: i64) {
    assert_eq!((bench.key_rows().await.len(), bench.count("audit").await), (messages, effects));
}

pub async fn a_claim_lives_and_dies_with_its_transaction<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;
    let claim = async |tx: &mut DB::Connection| {
        soon(consumer.inbox.claim(tx, QUEUE, "m-1")).await.expect("the database works")
    };

    let mut dropped = consumer.begin().await;
    assert_eq!(claim(&mut dropped).await, Claim::Fresh);
    drop(dropped);
    let mut rolled_back = consumer.begin().await;
    assert_eq!(claim(&mut rolled_back).await, Claim::Fresh);
    rolled_back.rollback().await.expect("the connection works");
    assert_kept(bench, 0, 0).await;
    let mut committed = consumer.begin().await;
    assert_eq!(claim(&mut committed).await, Claim::Fresh);
    assert_eq!(claim(&mut committed).await, Claim::Duplicate, "of the same transaction");
    apply::<DB>(&mut committed, "m-1").await.expect("the connection works");
    consumer.inbox.commit(committed).await.expect("it commits");

    let mut later = consumer.begin().await;
    assert!(claim(&mut later).await.is_duplicate());
    consumer.inbox.commit(later).await.expect("a transaction with a duplicate commits as well");
    assert_kept(bench, 1, 1).await;
}

pub async fn a_claim_in_a_savepoint_is_undone_with_it<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;
    let mut tx = consumer.begin().await;

    assert_eq!(consumer.inbox.claim(&mut tx, QUEUE, "m-1").await.expect("it works"), Claim::Fresh);
    let mut nested = tx.begin().await.expect("a savepoint");
    assert_eq!(consumer.inbox.claim(&mut nested, QUEUE, "m-2").await.expect("it works"), Claim::Fresh);
    nested.rollback().await.expect("the connection works");
    consumer.inbox.commit(tx).await.expect("it commits");

    assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Before);
    assert_eq!(consumer.consume("m-2").await.expect("it works"), Consumed::Now(()));
}

// The claim was committed by itself, and the message lost when its work failed.
// Reports: B47
pub async fn a_claim_outside_of_a_transaction_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;
    let mut connection = soon(consumer.app.writer.acquire()).await.expect("a connection is free");

    let alone = consumer.inbox.claim(&mut connection, QUEUE, "m-1").await;
    DB::execute(&mut connection, "BEGIN", &[]).await.expect("it is in no transaction");
    let unseen = consumer.inbox.claim(&mut connection, QUEUE, "m-1").await;
    DB::execute(&mut connection, "ROLLBACK", &[]).await.expect("it is in one");
    drop(connection);

    assert!(matches!(alone, Err(InboxError::NoTransaction)), "{alone:?}");
    assert!(matches!(unseen, Err(InboxError::NoTransaction)), "sqlx does not count it: {unseen:?}");
    assert_kept(bench, 0, 0).await;
}

/// Does the effect of a message and has a statement fail of which nothing is said.
async fn swallow<DB: TestDatabase>(connection: &mut DB::Connection) {
    apply::<DB>(connection, "m-1").await.expect("the connection works");
    let failed = DB::execute(connection, "INSERT INTO audit (tenant) VALUES (NULL)", &[]).await;
    assert!(failed.is_err(), "the statement was made to fail");
}

// sqlx says `Ok` of a COMMIT that the server answers with a rollback, and the message was acknowledged.
pub async fn a_swallowed_error_is_no_success_where_it_aborts<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;

    let work = async |tx: &mut DB::Connection| {
        swallow::<DB>(tx).await;
        Ok::<_, InboxError>(())
    };
    let outcome = soon(consumer.inbox.consume(QUEUE, "m-1", work)).await;
    let mut tx = consumer.begin().await;
    let claimed = consumer.inbox.claim(&mut tx, QUEUE, "m-2").await.expect("the database works");
    swallow::<DB>(&mut tx).await;
    let second = soon(consumer.inbox.claim(&mut tx, QUEUE, "m-3")).await;
    let committed = soon(consumer.inbox.commit(tx)).await;

    assert_eq!(claimed, Claim::Fresh);
    if DB::ERRORS_ABORT {
        assert!(matches!(outcome, Err(InboxError::Aborted)), "{outcome:?}");
        assert!(matches!(second, Err(InboxError::Aborted)), "{second:?}");
        assert!(matches!(committed, Err(InboxError::Aborted)), "{committed:?}");
        assert_kept(bench, 0, 0).await;
    } else {
        // The statement alone is undone, and the rest goes on.
        assert_eq!(outcome.expect("it commits"), Consumed::Now(()));
        committed.expect("it commits");
        assert_kept(bench, 3, 2).await;
    }
}

pub async fn a_commit_of_a_message_that_the_database_refuses_keeps_nothing<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    bench.place.execute("CREATE TABLE parents (id bigint PRIMARY KEY)").await;
    let children = "CREATE TABLE children (
        parent bigint NOT NULL REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)";
    bench.place.execute(children).await;
    let consumer = Consumer::start(bench, "billing").await;
    let adopt = "INSERT INTO children (parent) VALUES (42)";
    let consume = async || {
        let work = async |tx: &mut DB::Connection| {
            apply::<DB>(tx, "m-1").await?;
            DB::execute(tx, adopt, &[]).await?;
            Ok::<_, InboxError>(())
        };
        soon(consumer.inbox.consume(QUEUE, "m-1", work)).await
    };

    let refused = consume().await;
    let mut tx = consumer.begin().await;
    assert_eq!(consumer.inbox.claim(&mut tx, QUEUE, "m-2").await.expect("it works"), Claim::Fresh);
    DB::execute(&mut tx, adopt, &[]).await.expect("it is checked later");
    let uncommitted = consumer.inbox.commit(tx).await;

    assert!(matches!(refused, Err(InboxError::Store(sqlx::Error::Database(_)))), "{refused:?}");
    assert!(matches!(uncommitted, Err(InboxError::Store(sqlx::Error::Database(_)))), "{uncommitted:?}");
    assert_kept(bench, 0, 0).await;
    bench.place.execute("INSERT INTO parents (id) VALUES (42)").await;
    assert_eq!(consume().await.expect("it commits now"), Consumed::Now(()));
}

/// Does the effect of a message, then these statements, as if work ended its transaction by itself, then an effect more.
/// Errors are swallowed.
async fn consume_around<DB: TestDatabase>(
    consumer: &Consumer<DB>,
    statements: &'static [&'static str],
) -> Result<Consumed<()>, InboxError> {
    let work = async |tx: &mut DB::Connection| {
        apply::<DB>(tx, "before").await?;
        for statement in statements {
            drop(DB::execute(tx, statement, &[]).await);
        }
        // Without values it is one message, which a pooler gives to one server though it is in no transaction.
        drop(DB::execute(tx, "INSERT INTO audit (tenant, note) VALUES ('t1', 'after')", &[]).await);
        Ok::<_, InboxError>(())
    };
    soon(consumer.inbox.consume(QUEUE, "m-1", work)).await
}

pub async fn work_that_commits_by_itself_is_no_success<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;

    let ended = consume_around(&consumer, &["COMMIT"]).await;

    assert!(matches!(ended, Err(InboxError::TransactionEnded)), "{ended:?}");
    if DB::WRITES_IN_PARALLEL {
        // It cannot be undone. With it the claim was committed, so the message is not done twice.
        assert_kept(bench, 1, 2).await;
        assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Before);
    } else {
        // The file is locked against a COMMIT that is not the engine's.
        assert_kept(bench, 0, 0).await;
        assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));
    }
}

pub async fn work_that_rolls_back_by_itself_is_no_success<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;

    let ended = consume_around(&consumer, &["ROLLBACK"]).await;

    assert!(matches!(ended, Err(InboxError::TransactionEnded)), "{ended:?}");
    // What is written in no transaction stays on PostgreSQL.
    assert_kept(bench, 0, i64::from(DB::WRITES_IN_PARALLEL)).await;
    assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));
}

pub async fn work_that_changes_its_transaction_for_another_is_no_success<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let consumer = Consumer::start(bench, "billing").await;

    let ended = consume_around(&consumer, &["ROLLBACK", "BEGIN"]).await;

    assert!(matches!(ended, Err(InboxError::TransactionEnded)), "{ended:?}");
    assert_kept(bench, 0, 0).await;

    // Nor if there was a row before, which has expired and is back now.
    consumer.consume("m-1").await.expect("it works");
    bench.expire_in(-1).await;
    let ended = consume_around(&consumer, &["ROLLBACK", "BEGIN"]).await;

    assert!(matches!(ended, Err(InboxError::TransactionEnded)), "{ended:?}");
    assert_kept(bench, 1, 1).await;
    bench.place.execute(&format!("DELETE FROM {}", bench.place.key_table())).await;
    bench.place.execute("DELETE FROM audit").await;

    // Nor with a claim in the other one.
    let work = async |tx: &mut DB::Connection| {
        DB::execute(tx, "ROLLBACK", &[]).await?;
        DB::execute(tx, "BEGIN", &[]).await?;
        let claim = consumer.inbox.claim(tx, QUEUE, "m-2").await?;
        assert_eq!(claim, Claim::Fresh);
        Ok::<_, InboxError>(())
    };
    let ended = soon(consumer.inbox.consume(QUEUE, "m-1", work)).await;

    assert!(matches!(ended, Err(InboxError::TransactionEnded)), "{ended:?}");
    assert_kept(bench, 0, 0).await;
}

pub async fn work_may_claim_another_message<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;

    let work = async |tx: &mut DB::Connection| {
        apply::<DB>(tx, "m-1").await?;
        consumer.inbox.claim(tx, QUEUE, "m-2").await
    };
    let outcome = soon(consumer.inbox.consume(QUEUE, "m-1", work)).await.expect("it works");

    assert_eq!(outcome, Consumed::Now(Claim::Fresh));
    assert_kept(bench, 2, 1).await;
    assert_eq!(consumer.consume("m-2").await.expect("it works"), Consumed::Before);
}

pub async fn a_commit_of_a_transaction_that_is_over_is_no_success<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;

    let mut tx = consumer.begin().await;
    assert_eq!(consumer.inbox.claim(&mut tx, QUEUE, "m-1").await.expect("it works"), Claim::Fresh);
    DB::execute(&mut tx, "ROLLBACK", &[]).await.expect("the connection works");
    let ended = soon(consumer.inbox.commit(tx)).await;

    assert!(matches!(ended, Err(InboxError::TransactionEnded)), "{ended:?}");
    assert_kept(bench, 0, 0).await;
}

pub async fn a_nested_transaction_that_was_left_open_is_no_success<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;

    let work = async |tx: &mut DB::Connection| {
        apply::<DB>(tx, "m-1").await?;
        std::mem::forget(tx.begin().await?);
        Ok::<_, InboxError>(())
    };
    let outcome = soon(consumer.inbox.consume(QUEUE, "m-1", work)).await;
    let mut tx = consumer.begin().await;
    assert_eq!(consumer.inbox.claim(&mut tx, QUEUE, "m-1").await.expect("it works"), Claim::Fresh);
    std::mem::forget(tx.begin().await.expect("a savepoint"));
    let committed = soon(consumer.inbox.commit(tx)).await;

    assert!(matches!(outcome, Err(InboxError::Nested)), "{outcome:?}");
    assert!(matches!(committed, Err(InboxError::Nested)), "{committed:?}");
    assert_kept(bench, 0, 0).await;
    bench.place.assert_whole(&consumer.app.writer).await;
    assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));
}

pub async fn a_panic_of_the_work_goes_on_and_keeps_nothing<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::start(bench, "billing").await;

    let panicking = tokio::spawn({
        let consumer = consumer.clone();
        async move {
            let work = async |tx: &mut DB::Connection| {
                apply::<DB>(tx, "m-1").await?;
                panic!("the work panics");
            };
            consumer.inbox.consume::<(), InboxError, _, _, _>(QUEUE, "m-1", work).await
        }
    });
    let panic = soon(panicking).await.expect_err("it panics").into_panic();

    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the work panics"));
    assert_kept(bench, 0, 0).await;
    bench.place.assert_whole(&consumer.app.writer).await;
    assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));
}

pub async fn work_that_is_given_up_leaves_the_pool_whole<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::of(bench.server().connections(2).app().await, "billing");

    // At whatever it awaits: a connection, BEGIN, the claim, the work's own.
    for polls in 0..40 {
        let work = async |tx: &mut DB::Connection| {
            apply::<DB>(tx, "m-1").await?;
            pending::<Result<(), InboxError>>().await
        };
        let mut consuming = pin!(consumer.inbox.consume(QUEUE, "m-1", work));
        for _ in 0..polls {
            let polled = poll_fn(|context| Poll::Ready(consuming.as_mut().poll(context).is_ready())).await;
            assert!(!polled, "it does not end by itself");
            tokio::task::yield_now().await;
        }
    }
    // And while it works.
    let gate = Gate::default();
    let work = async |tx: &mut DB::Connection| {
        apply::<DB>(tx, "m-1").await?;
        gate.pass().await;
        Ok::<_, InboxError>(())
    };
    tokio::select! {
        outcome = consumer.inbox.consume(QUEUE, "m-1", work) => panic!("the gate is closed: {outcome:?}"),
        () = soon(gate.arrivals(1)) => {}
    }

    bench.place.assert_whole(&consumer.app.writer).await;
    assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));
    assert_kept(bench, 1, 1).await;
}

// Reports: B36
pub async fn a_message_that_failed_holds_nothing_while_it_waits<DB: TestDatabase>(bench: &Bench<DB>) {
    let consumer = Consumer::of(bench.server().connections(1).app().await, "billing");
    let other_process = Consumer::start(bench, "billing").await;

    drop(consumer.fail("m-1").await);
    // The consumer waits now. Everybody may do what it likes with the row, the file and the connection.
    bench.place.assert_whole(&consumer.app.writer).await;
    assert_eq!(other_process.consume("m-1").await.expect("it works"), Consumed::Now(()));
    assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Before);

    assert_kept(bench, 1, 1).await;
}
