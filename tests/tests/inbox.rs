//! The inbox on PostgreSQL: what its claims wait for, what they leave of the session, and lost connections. One file for all
//! of it, in which the same few helpers hold a message and look at who waits for it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, Gate, Probe};
use idem_runtime::{Claim, Consumed, Idempotency, InboxError, Isolation, idempotent, is_transient};
use idem_tests::bench::{Bench, run};
use idem_tests::consumer::{Consumer, Failure, QUEUE, apply};
use idem_tests::database::Place as _;
use idem_tests::http::{Request, r1};
use idem_tests::patience::{eventually, soon};
use idem_tests::proxy::{At, PgProxy, RoundKind};
use idem_tests::same::assert_ran;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool, PgTransaction, Postgres, Row as _};
use tokio::task::{JoinHandle, JoinSet};

/// Waits until so many sessions of the application wait for a lock.
async fn waiting(bench: &Bench<Postgres>, sessions: i64) {
    let count = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE {} AND wait_event_type = 'Lock'",
        bench.place.sessions()
    );
    eventually(async || bench.place.integer(&count).await == sessions).await;
}

/// Begins to process a message, and waits until another transaction is in the way.
async fn consume_behind(
    bench: &Bench<Postgres>,
    consumer: &Consumer<Postgres>,
) -> JoinHandle<Result<Consumed<()>, InboxError>> {
    let consumer = consumer.clone();
    let consuming = tokio::spawn(async move { consumer.consume("m-1").await });
    waiting(bench, 1).await;
    consuming
}

/// A transaction that has claimed the message.
async fn claimed(consumer: &Consumer<Postgres>, message: &str) -> PgTransaction<'static> {
    let mut tx = consumer.begin().await;
    let claim = consumer.inbox.claim(&mut tx, QUEUE, message).await.expect("nobody is in the way");
    assert_eq!(claim, Claim::Fresh);
    tx
}

#[tokio::test]
async fn who_waits_for_a_claim_learns_what_becomes_of_it() {
    run(async |bench: &Bench<Postgres>| {
        let consumer = Consumer::start(bench, "billing").await;

        let first = claimed(&consumer, "m-1").await;
        let behind = consume_behind(bench, &consumer).await;
        first.rollback().await.expect("the connection works");
        assert_eq!(behind.await.expect("no panic").expect("it works"), Consumed::Now(()));

        consumer.inbox.forget(QUEUE, "m-1").await.expect("it works");
        let first = claimed(&consumer, "m-1").await;
        let behind = consume_behind(bench, &consumer).await;
        consumer.inbox.commit(first).await.expect("it commits");
        assert_eq!(behind.await.expect("no panic").expect("it works"), Consumed::Before);

        assert_eq!(bench.count("audit").await, 1);
    })
    .await;
}

// Two that find the same expired row: the second waits for the first one's update of it.
#[tokio::test]
async fn who_waits_for_an_expired_row_learns_what_becomes_of_it() {
    run(async |bench: &Bench<Postgres>| {
        let consumer = Consumer::start(bench, "billing").await;
        assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));
        bench.expire_in(-1).await;

        let first = claimed(&consumer, "m-1").await;
        let behind = consume_behind(bench, &consumer).await;
        consumer.inbox.commit(first).await.expect("it commits");
        assert_eq!(behind.await.expect("no panic").expect("it works"), Consumed::Before);

        bench.expire_in(-1).await;
        let first = claimed(&consumer, "m-1").await;
        let behind = consume_behind(bench, &consumer).await;
        first.rollback().await.expect("the connection works");
        assert_eq!(behind.await.expect("no panic").expect("it works"), Consumed::Now(()));
    })
    .await;
}

#[tokio::test]
async fn a_claim_does_not_wait_longer_than_it_is_told() {
    run(async |bench: &Bench<Postgres>| {
        let consumer = Consumer::start(bench, "billing").await;
        let hasty = Consumer { inbox: consumer.inbox.clone().wait(Duration::ZERO), ..consumer.clone() };
        let first = claimed(&consumer, "m-1").await;

        let in_vain = hasty.consume("m-1").await;
        let mut tx = hasty.begin().await;
        let unclaimed = soon(hasty.inbox.claim(&mut tx, QUEUE, "m-1")).await;
        let uncommitted = hasty.inbox.commit(tx).await;
        let other_message = hasty.consume("m-2").await;
        consumer.inbox.commit(first).await.expect("it commits");

        let error = in_vain.expect_err("it waited in vain");
        assert!(matches!(error, InboxError::InProgress) && is_transient(&error), "{error:?}");
        assert!(matches!(unclaimed, Err(InboxError::InProgress)), "{unclaimed:?}");
        assert!(matches!(uncommitted, Err(InboxError::Aborted)), "{uncommitted:?}");
        assert_eq!(other_message.expect("nobody is in the way"), Consumed::Now(()));
        assert_eq!(hasty.consume("m-1").await.expect("it works"), Consumed::Before);
    })
    .await;
}

/// The session's `lock_timeout` within a transaction.
async fn lock_timeout(connection: &mut PgConnection) -> String {
    let setting = sqlx::query_scalar("SELECT current_setting('lock_timeout')").fetch_one(connection).await;
    setting.expect("the connection works")
}

#[tokio::test]
async fn a_claim_changes_no_setting_of_the_session() {
    run(async |bench: &Bench<Postgres>| {
        for own in ["0", "30s"] {
            let app = bench.server().connections(1).session("lock_timeout", own).app().await;
            let consumer = Consumer::of(app, "billing");

            let mut tx = consumer.begin().await;
            for (message, expected) in [("m-1", Claim::Fresh), ("m-1", Claim::Duplicate)] {
                let claim = consumer.inbox.claim(&mut tx, QUEUE, message).await.expect("it works");
                assert_eq!(claim, expected);
                assert_eq!(lock_timeout(&mut tx).await, own);
            }
            sqlx::query("SET LOCAL lock_timeout = '7s'").execute(&mut *tx).await.expect("it may be set");
            let claim = consumer.inbox.claim(&mut tx, QUEUE, "m-2").await.expect("it works");
            assert_eq!((claim, lock_timeout(&mut tx).await.as_str()), (Claim::Fresh, "7s"));
            consumer.inbox.commit(tx).await.expect("it commits");

            let mut connection = consumer.app.writer.acquire().await.expect("a connection is free");
            assert_eq!(lock_timeout(&mut connection).await, own);
            let first_claim = sqlx::query_scalar("SELECT current_setting('idempotency.inbox', true)");
            let first_claim: Option<String> =
                first_claim.fetch_one(&mut *connection).await.expect("it works");
            assert_eq!(first_claim.unwrap_or_default(), "", "it ends with the transaction");
            drop(connection);
            for message in ["m-1", "m-2"] {
                assert!(consumer.inbox.forget(QUEUE, message).await.expect("it works"));
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_shorter_lock_time_out_of_the_sessions_is_kept() {
    run(async |bench: &Bench<Postgres>| {
        let holder = Consumer::start(bench, "billing").await;
        let app = bench.server().session("lock_timeout", "60ms").app().await;
        // Longer than the test's own patience.
        let inbox = app.idempotency.inbox("billing").wait(Duration::from_mins(5));
        let hasty = Consumer { app, inbox };
        let first = claimed(&holder, "m-1").await;

        let in_vain = hasty.consume("m-1").await;

        assert!(matches!(in_vain, Err(InboxError::InProgress)), "{in_vain:?}");
        first.rollback().await.expect("the connection works");
    })
    .await;
}

#[tokio::test]
async fn a_transaction_without_a_claim_is_not_taken_for_one() {
    run(async |bench: &Bench<Postgres>| {
        let consumer = Consumer::of(bench.server().connections(1).app().await, "billing");
        assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));

        let never = consumer.inbox.commit(consumer.begin().await).await;
        let mut tx = claimed(&consumer, "m-2").await;
        sqlx::raw_sql("COMMIT; BEGIN").execute(&mut *tx).await.expect("the connection works");
        let another = consumer.inbox.commit(tx).await;

        assert!(matches!(never, Err(InboxError::TransactionEnded)), "{never:?}");
        assert!(matches!(another, Err(InboxError::TransactionEnded)), "{another:?}");
    })
    .await;
}

/// What a request claims, one after the other.
#[derive(Deserialize, Serialize)]
struct Two {
    first: String,
    second: String,
}

#[idempotent(scope = "endpoint", ttl = "24h")]
async fn claims_two(
    tx: &mut PgConnection,
    State(idempotency): State<Idempotency<Postgres>>,
    State(probe): State<Probe>,
    Json(two): Json<Two>,
) -> Result<StatusCode, Failure> {
    let inbox = idempotency.inbox("billing");
    let first = inbox.claim(tx, QUEUE, &two.first).await?;
    probe.gate.pass().await;
    let second = inbox.claim(tx, QUEUE, &two.second).await?;
    apply::<Postgres>(tx, &format!("{first:?} {second:?}")).await?;
    Ok(StatusCode::CREATED)
}

fn two(key: &str, first: &str, second: &str) -> Request {
    r1().path("/two").key(key).body(format!(r#"{{"first":"{first}","second":"{second}"}}"#))
}

// Cases: C-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_handlers_that_claim_in_opposite_order_end_and_the_losers_retry_runs() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new().route("/two", post(claims_two));
        let server = bench.server().routes(routes).start().await;
        let requests = [two("\"k-1\"", "a", "b"), two("\"k-2\"", "b", "a")];

        let running = [server.open(&requests[0]).await, server.open(&requests[1]).await];
        soon(server.gate().arrivals(2)).await;
        server.gate().open();
        let [one, other] = running;
        let answers = [one.answer().await, other.answer().await];

        let lost = usize::from(answers[0].status == 201);
        assert_ran(&answers[1 - lost], 201);
        assert_ran(&answers[lost], 500);
        let error = String::from_utf8_lossy(&answers[lost].body).into_owned();
        assert_eq!(error, "the database refused or could not be reached", "the handler's own");
        assert_eq!(bench.count("audit").await, 1);
        assert_ran(&server.send(&requests[lost]).await, 201);
        assert_eq!(bench.count("audit").await, 2);
    })
    .await;
}

#[tokio::test]
async fn of_two_that_claim_in_opposite_order_one_is_told_of_the_deadlock() {
    run(async |bench: &Bench<Postgres>| {
        let consumer = Consumer::start(bench, "billing").await;
        let mut first = claimed(&consumer, "a").await;
        let mut second = claimed(&consumer, "b").await;

        let (one, other) = soon(async {
            tokio::join!(
                async {
                    let claim = consumer.inbox.claim(&mut first, QUEUE, "b").await;
                    // Or the other would wait on.
                    if claim.is_err() {
                        drop(first.rollback().await);
                    }
                    claim
                },
                async {
                    let claim = consumer.inbox.claim(&mut second, QUEUE, "a").await;
                    if claim.is_err() {
                        drop(second.rollback().await);
                    }
                    claim
                },
            )
        })
        .await;

        let errors: Vec<_> = [one, other].into_iter().filter_map(Result::err).collect();
        let [error] = &errors[..] else { panic!("one error, not {errors:?}") };
        let InboxError::Store(sqlx::Error::Database(deadlock)) = error else { panic!("{error:?}") };
        assert_eq!(deadlock.code().as_deref(), Some("40P01"));
        assert!(is_transient(error));
    })
    .await;
}

#[tokio::test]
async fn above_read_committed_a_claim_behind_a_commit_may_pass_the_next_time() {
    run(async |bench: &Bench<Postgres>| {
        for level in ["REPEATABLE READ", "SERIALIZABLE"] {
            let consumer = Consumer::start(bench, level).await;
            let begin: &'static str = if level == "SERIALIZABLE" {
                "BEGIN ISOLATION LEVEL SERIALIZABLE"
            } else {
                "BEGIN ISOLATION LEVEL REPEATABLE READ"
            };
            let mut tx = consumer.app.writer.begin_with(begin).await.expect("a connection is free");
            // The snapshot is from before the other's COMMIT.
            sqlx::query("SELECT count(*) FROM audit").execute(&mut *tx).await.expect("it works");
            assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));

            let error = consumer.inbox.claim(&mut tx, QUEUE, "m-1").await.expect_err("its snapshot is old");
            drop(tx);

            let InboxError::Store(sqlx::Error::Database(conflict)) = &error else { panic!("{error:?}") };
            assert_eq!(conflict.code().as_deref(), Some("40001"), "{level}");
            assert!(is_transient(&error), "{level}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn above_read_committed_a_message_that_is_consumed_at_once_is_a_duplicate() {
    run(async |bench: &Bench<Postgres>| {
        for level in [Isolation::RepeatableRead, Isolation::Serializable] {
            let app = bench.server().engine(move |builder| builder.isolation(level)).app().await;
            let consumer = Consumer::of(app, &format!("{level:?}"));

            let first = claimed(&consumer, "m-1").await;
            let behind = consume_behind(bench, &consumer).await;
            consumer.inbox.commit(first).await.expect("it commits");

            // The server says 40001; nothing was done yet, so the claim is made again.
            assert_eq!(behind.await.expect("no panic").expect("it works"), Consumed::Before, "{level:?}");
        }
        assert_eq!(bench.count("audit").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_message_is_consumed_at_the_level_of_the_builder() {
    run(async |bench: &Bench<Postgres>| {
        for (level, name) in
            [(Isolation::RepeatableRead, "repeatable read"), (Isolation::Serializable, "serializable")]
        {
            let app = bench.server().engine(move |builder| builder.isolation(level)).app().await;
            let consumer = Consumer::of(app, "billing");

            let work = async |tx: &mut PgConnection| {
                let own = sqlx::query_scalar::<_, String>("SELECT current_setting('transaction_isolation')");
                Ok::<_, InboxError>(own.fetch_one(tx).await?)
            };
            let own = soon(consumer.inbox.consume(QUEUE, name, work)).await.expect("it works");

            assert_eq!(own, Consumed::Now(name.to_owned()));
        }
    })
    .await;
}

// As after a failover: the next connection may lead to the server that takes writes.
#[tokio::test]
async fn a_connection_to_a_server_that_takes_no_writes_is_not_kept() {
    run(async |bench: &Bench<Postgres>| {
        drop(bench.start().await);
        let standby = bench.server().session("default_transaction_read_only", "on").unmigrated().app().await;
        let consumer = Consumer::of(standby, "billing");

        let refused = consumer.consume("m-1").await;

        assert!(matches!(refused, Err(InboxError::Store(_))), "{refused:?}");
        assert_eq!(consumer.app.writer.size(), 0, "connections");
    })
    .await;
}

// Cases: C-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serializable_messages_do_not_disturb_each_other() {
    run(async |bench: &Bench<Postgres>| {
        let launch = bench.server().engine(|builder| builder.isolation(Isolation::Serializable));
        let consumer = Consumer::of(launch.app().await, "billing");
        bench.place.execute(&format!("ANALYZE {}", bench.place.key_table())).await;

        let mut consumers = JoinSet::new();
        for lane in 0..8 {
            let consumer = consumer.clone();
            consumers.spawn(async move {
                for number in 0..25 {
                    let outcome = consumer.consume(&format!("m-{lane}-{number}")).await;
                    assert_eq!(outcome.expect("nobody is in the way"), Consumed::Now(()));
                }
            });
        }
        soon(consumers.join_all()).await;

        assert_eq!(bench.count("audit").await, 200);
    })
    .await;
}

// Reports: B36
#[tokio::test]
async fn no_transaction_is_open_while_a_consumer_backs_off() {
    run(async |bench: &Bench<Postgres>| {
        let consumer = Consumer::start(bench, "billing").await;
        let gate = Gate::default();

        let consuming = tokio::spawn({
            let (consumer, gate) = (consumer.clone(), gate.clone());
            async move {
                drop(consumer.fail("m-1").await);
                // Its backoff, for as long as the test looks.
                gate.pass().await;
                consumer.consume("m-1").await
            }
        });
        soon(gate.arrivals(1)).await;
        let sessions = bench.place.sessions_in_transaction().await;
        let table = bench.place.key_table();
        let locks = format!("SELECT count(*) FROM pg_locks WHERE relation = '{table}'::regclass");
        let locks = bench.place.integer(&locks).await;
        gate.open();

        assert_eq!((sessions, locks), (0, 0));
        let outcome = soon(consuming).await.expect("no panic").expect("it works");
        assert_eq!(outcome, Consumed::Now(()));
    })
    .await;
}

/// A consumer whose connections lead through a proxy.
async fn behind_a_proxy(bench: &Bench<Postgres>) -> (Consumer<Postgres>, Arc<PgProxy>) {
    let proxy = bench.proxy().await;
    (Consumer::of(bench.server().through(&proxy).app().await, "billing"), proxy)
}

// The consumer that is gone after its COMMIT, and before it could acknowledge the message, cannot tell the two apart.
// Cases: W-15
#[tokio::test]
async fn a_message_whose_commit_was_not_heard_of_is_not_processed_again() {
    run(async |bench: &Bench<Postgres>| {
        for (at, expected) in [(At::Reply, Consumed::Before), (At::Request, Consumed::Now(()))] {
            let (consumer, proxy) = behind_a_proxy(bench).await;
            let message = format!("{at:?}");

            let mut commit = proxy.hold(at, |round| round.runs("COMMIT"));
            let consuming = tokio::spawn({
                let (consumer, message) = (consumer.clone(), message.clone());
                async move { consumer.consume(&message).await }
            });
            commit.reached().await;
            commit.cut();
            let error = soon(consuming).await.expect("no panic").expect_err("nobody knows");

            assert!(matches!(error, InboxError::Store(_)) && is_transient(&error), "{error:?}");
            assert_eq!(consumer.consume(&message).await.expect("it works"), expected);
            assert_eq!(consumer.consume(&message).await.expect("it works"), Consumed::Before);
        }
        assert_eq!(bench.count("audit").await, 2);
    })
    .await;
}

#[tokio::test]
async fn a_message_whose_connection_is_lost_is_processed_when_it_comes_again() {
    run(async |bench: &Bench<Postgres>| {
        let consumer = Consumer::start(bench, "billing").await;

        let work = async |tx: &mut PgConnection| {
            apply::<Postgres>(tx, "m-1").await?;
            assert_eq!(bench.place.terminate_transactions().await, 1);
            Ok::<_, InboxError>(())
        };
        let error = soon(consumer.inbox.consume(QUEUE, "m-1", work)).await.expect_err("it is lost");

        assert!(is_transient(&error), "{error:?}");
        assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));
        assert_eq!(bench.count("audit").await, 1);
    })
    .await;
}

/// Leaves a transaction open on the pool's one connection, as a cancelled `begin` may, until it is too old to be one of the
/// consumer's.
async fn leave_open(bench: &Bench<Postgres>, pool: &PgPool) {
    let mut connection = soon(pool.acquire()).await.expect("a connection is free");
    let begin = sqlx::raw_sql("BEGIN; INSERT INTO refunds (tenant, item) VALUES ('t1', 'tea')");
    begin.execute(&mut *connection).await.expect("it was outside of any transaction");
    drop(connection);
    let old = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE {} AND clock_timestamp() - xact_start > interval '300 milliseconds'",
        bench.place.sessions()
    );
    eventually(async || bench.place.integer(&old).await == 1).await;
}

#[tokio::test]
async fn a_message_does_not_join_a_transaction_that_was_left_open() {
    run(async |bench: &Bench<Postgres>| {
        let consumer = Consumer::of(bench.server().connections(1).app().await, "billing");
        leave_open(bench, &consumer.app.writer).await;

        let refused = consumer.consume("m-1").await;

        assert!(matches!(refused, Err(InboxError::Store(sqlx::Error::BeginFailed))), "{refused:?}");
        assert_eq!((bench.count("audit").await, bench.count("refunds").await), (0, 0));
        assert_eq!(consumer.consume("m-1").await.expect("it works"), Consumed::Now(()));
        assert_eq!(bench.count("refunds").await, 0);
    })
    .await;
}

// Cases: Z-10
#[tokio::test]
async fn without_prepared_statements_no_statement_of_an_inbox_is_named_or_leaves_its_transaction() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let launch = bench.server().connections(1).through(&proxy);
        let app = launch.engine(|builder| builder.prepared_statements(false)).app().await;
        let consumer = Consumer::of(app, "billing");

        let consume = async || {
            let work = async |_: &mut PgConnection| Ok::<_, InboxError>(());
            soon(consumer.inbox.consume(QUEUE, "m-1", work)).await.expect("it works")
        };
        assert_eq!((consume().await, consume().await), (Consumed::Now(()), Consumed::Before));
        bench.expire_in(-1).await;
        assert_eq!(consume().await, Consumed::Now(()));
        assert!(consumer.inbox.find(QUEUE, "m-1").await.expect("it works").is_some());
        assert!(consumer.inbox.forget(QUEUE, "m-1").await.expect("it works"));

        let mut in_transaction = false;
        for round in proxy.rounds() {
            match round.kind {
                RoundKind::Run if round.sql.starts_with("BEGIN") => in_transaction = true,
                RoundKind::Run if round.sql == "COMMIT" || round.sql == "ROLLBACK" => in_transaction = false,
                RoundKind::Prepare => assert!(in_transaction, "{round:?}"),
                _ => {}
            }
        }
        let names = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%idempotency_keys%'";
        let names = sqlx::raw_sql(names).fetch_one(&consumer.app.writer).await.expect("it works");
        assert_eq!(names.get::<i64, _>(0), 0);
    })
    .await;
}
