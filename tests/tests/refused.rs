//! The server refuses a statement of the engine: what each error code comes to.

use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::r1;
use idem_tests::problem::assert_problem;
use idem_tests::proxy::{self, Round};
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::Postgres;

const TRANSIENT: &str = "idempotency_transient";
const OUTCOME_UNKNOWN: &str = "idempotency_outcome_unknown";
const COMMIT_REJECTED: &str = "idempotency_commit_rejected";
const STORE_UNAVAILABLE: &str = "idempotency_store_unavailable";
const STORE_MISCONFIGURED: &str = "idempotency_store_misconfigured";

/// Where the server refuses.
struct At {
    /// The route, and what it answers when nothing is refused.
    route: (&'static str, u16),
    /// What the trigger is, on the table of the orders or else on the key table.
    trigger: &'static str,
    on_orders: bool,
}

/// Has a request fail with each of these codes, and expects each answer; the retry at once runs.
async fn assert_refused(at: At, codes: &[(&str, &str)]) {
    run(async |bench: &Bench<Postgres>| {
        let server = bench.start().await;
        let table = if at.on_orders { "orders".to_owned() } else { bench.place.key_table() };
        let raise = "RAISE 'made to fail' USING ERRCODE = TG_ARGV[0]";
        let function = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS";
        bench.place.execute(&format!("{function} $$ BEGIN {raise}; END $$")).await;

        for (code, expected) in codes {
            let trigger = at.trigger.replace("TABLE", &table);
            bench.place.execute(&format!("{trigger} EXECUTE FUNCTION refuse('{code}')")).await;
            let request = r1().path(at.route.0).fresh_key();
            let (keys, orders) = (bench.key_rows().await.len(), bench.count("orders").await);

            let refused = server.send(&request).await;
            assert_eq!((*code, &refused.json()["code"]), (*code, &(*expected).into()));
            assert_problem(&refused, expected);
            bench.assert_holds(keys, orders).await;
            bench.place.execute(&format!("DROP TRIGGER refuse ON {table}")).await;
            let first = server.send(&request).await;

            assert_ran(&first, at.route.1);
            assert_replays(&first, &server.send(&request).await);
        }
    })
    .await;
}

#[tokio::test]
async fn a_reservation_that_fails_can_be_retried_unless_the_table_is_wrong() {
    let at = At {
        route: ("/orders", 201),
        trigger: "CREATE TRIGGER refuse BEFORE INSERT ON TABLE FOR EACH ROW",
        on_orders: false,
    };
    assert_refused(
        at,
        &[
            ("40001", STORE_UNAVAILABLE),
            ("55P03", STORE_UNAVAILABLE),
            ("25P04", STORE_UNAVAILABLE),
            ("40003", STORE_UNAVAILABLE),
            ("53300", STORE_UNAVAILABLE),
            // What poolers answer, which was never to be retried.
            ("XX000", STORE_UNAVAILABLE),
            ("54000", STORE_UNAVAILABLE),
            ("42501", STORE_MISCONFIGURED),
            ("42703", STORE_MISCONFIGURED),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_recorded_is_transient_where_the_session_ended() {
    let at = At {
        route: ("/orders", 201),
        trigger: "CREATE TRIGGER refuse BEFORE UPDATE ON TABLE FOR EACH ROW",
        on_orders: false,
    };
    assert_refused(
        at,
        &[
            ("40001", TRANSIENT),
            // PostgreSQL 17's transaction_timeout, which was 500.
            ("25P04", TRANSIENT),
            ("57P01", TRANSIENT),
            ("40003", TRANSIENT),
            ("23514", COMMIT_REJECTED),
        ],
    )
    .await;
}

// 40003 says that the server does not know, and was told to the client as "had no effect".
// Cases: T-07
#[tokio::test]
async fn a_commit_that_fails_had_no_effect_unless_nobody_knows() {
    let at = At {
        route: ("/orders", 201),
        trigger: "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON TABLE DEFERRABLE INITIALLY DEFERRED \
                  FOR EACH ROW",
        on_orders: true,
    };
    assert_refused(
        at,
        &[
            ("40001", TRANSIENT),
            ("40P01", TRANSIENT),
            ("40003", OUTCOME_UNKNOWN),
            ("25P04", OUTCOME_UNKNOWN),
            ("57P01", OUTCOME_UNKNOWN),
            ("08006", OUTCOME_UNKNOWN),
            ("23514", COMMIT_REJECTED),
            ("53100", COMMIT_REJECTED),
        ],
    )
    .await;
}

// A retry at once could meet the lock of the statement that had just failed.
// Cases: T-24
#[tokio::test]
async fn a_failed_answer_that_cannot_be_stored_is_transient_unless_nobody_knows() {
    let at = At {
        route: ("/err", 422),
        trigger: "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON TABLE DEFERRABLE INITIALLY DEFERRED \
                  FOR EACH ROW WHEN (NEW.response_status IS NOT NULL)",
        on_orders: false,
    };
    assert_refused(
        at,
        &[
            ("40001", TRANSIENT),
            ("40003", OUTCOME_UNKNOWN),
            ("25P04", OUTCOME_UNKNOWN),
            ("23514", TRANSIENT),
            ("53100", TRANSIENT),
        ],
    )
    .await;
}

// It was told that a request with its key was in progress, and there was none.
// Reports: B32
#[tokio::test]
async fn a_lock_on_the_table_is_no_request_in_progress() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let server = bench.server().through(&proxy).session("lock_timeout", "200").start().await;
        let first = server.send(&r1()).await;
        let table = bench.place.key_table();
        let lock = async || {
            let lock = sqlx::AssertSqlSafe(format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"));
            let mut migration = bench.place.pool().begin().await.expect("the server is there");
            sqlx::query(lock).execute(&mut *migration).await.expect("the table is free");
            migration
        };

        let migration = lock().await;
        assert_problem(&server.send(&r1()).await, STORE_UNAVAILABLE);
        assert_problem(&server.send(&r1().fresh_key()).await, STORE_UNAVAILABLE);
        migration.rollback().await.expect("the lock is let go");
        let failed = r1().path("/err");
        let mut rollback = proxy.hold(proxy::At::Reply, |round: &Round| round.runs("ROLLBACK"));
        let not_stored = server.open(&failed).await;
        rollback.reached().await;
        let migration = lock().await;
        rollback.release();
        assert_problem(&not_stored.answer().await, TRANSIENT);
        migration.rollback().await.expect("the lock is let go");

        assert_replays(&first, &server.send(&r1()).await);
        assert_ran(&server.send(&failed).await, 422);
        bench.assert_holds(2, 1).await;
    })
    .await;
}

// Only the parent was looked at, so a partition could be one whose rows do not survive a crash.
#[tokio::test]
async fn a_partitioned_key_table_is_refused() {
    run(async |bench: &Bench<Postgres>| {
        let server = bench.start().await;
        let table = bench.place.key_table();
        for sql in [
            format!("ALTER TABLE {table} RENAME TO as_migrated"),
            format!("CREATE TABLE {table} (LIKE as_migrated INCLUDING ALL) PARTITION BY HASH (id)"),
            format!(
                "CREATE UNLOGGED TABLE part PARTITION OF {table} FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
            ),
        ] {
            bench.place.execute(&sql).await;
        }
        drop(server);

        let server = bench.server().unmigrated().start().await;

        assert_problem(&server.send(&r1()).await, STORE_MISCONFIGURED);
        let refused = server.app.idempotency.check().await.expect_err("it will not do");
        assert!(refused.to_string().contains("is not an ordinary, permanent table"), "{refused}");
    })
    .await;
}
