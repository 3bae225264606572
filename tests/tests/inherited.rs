//! The pool hands out a connection on which somebody left a transaction open, as a cancelled `begin` may
//! (sqlx issue 4385).

use std::time::Duration;

use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::r1;
use idem_tests::patience::{eventually, soon};
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::{PgPool, Postgres, Sqlite};

/// Leaves a transaction open on a connection of the pool, after these statements.
async fn leave_open(pool: &PgPool, statements: &[&'static str]) {
    let mut connection = soon(pool.acquire()).await.expect("a connection is free");
    sqlx::raw_sql("BEGIN").execute(&mut *connection).await.expect("it was outside of any transaction");
    for statement in statements {
        // It may fail: that leaves the transaction open as well.
        let _ = sqlx::raw_sql(*statement).execute(&mut *connection).await;
    }
}

/// Waits until the application's open transaction is too old to be that of a request.
async fn grow_old(bench: &Bench<Postgres>) {
    let sessions = bench.place.sessions();
    let old = format!(
        "SELECT count(*) FROM pg_stat_activity
         WHERE {sessions} AND clock_timestamp() - xact_start > interval '300 milliseconds'"
    );
    eventually(async || bench.place.integer(&old).await == 1).await;
}

// The run joined the other transaction, and its row was dated back to the begin of it: a retry within the TTL
// could run again.
// Reports: U08
#[tokio::test]
async fn a_run_does_not_join_a_transaction_that_was_left_open() {
    run(async |bench: &Bench<Postgres>| {
        let server = bench.server().connections(1).start().await;
        leave_open(&server.app.writer, &["INSERT INTO refunds (tenant, item) VALUES ('t1', 'tea')"]).await;
        grow_old(bench).await;

        let refused = server.send(&r1()).await;

        assert_problem(&refused, "idempotency_store_unavailable");
        assert_eq!(server.runs(), 0);
        bench.assert_holds(0, 0).await;
        assert_eq!(bench.count("refunds").await, 0, "what nobody committed is gone with its connection");
        let begun = bench.place.integer("SELECT (extract(epoch FROM now()) * 1000000)::bigint").await;
        let first = server.send(&r1()).await;
        assert_ran(&first, 201);
        assert_replays(&first, &server.send(&r1()).await);
        let row = bench.key_row().await;
        assert!(row.created_at >= begun, "{} before {begun}", row.created_at);
        assert_eq!(row.ttl_secs(), 86_400);
    })
    .await;
}

// The batch's COMMIT was for the other transaction's writes as well.
#[tokio::test]
async fn a_sweep_does_not_commit_a_transaction_that_was_left_open() {
    run(async |bench: &Bench<Postgres>| {
        let app = bench.server().connections(1).app().await;
        bench.fill("expired", 10, 0).await;
        leave_open(&app.writer, &["INSERT INTO refunds (tenant, item) VALUES ('t1', 'tea')"]).await;

        let refused = soon(app.idempotency.sweep_once()).await;

        assert!(refused.is_err(), "{refused:?}");
        assert_eq!(soon(app.idempotency.sweep_once()).await.expect("on a connection of its own"), 10);
        assert_eq!(bench.count("refunds").await, 0, "what nobody committed is gone with its connection");
    })
    .await;
}

// A duplicate's ROLLBACK took the other transaction's writes away as if they were its own.
#[tokio::test]
async fn a_replay_does_not_end_a_transaction_that_was_left_open() {
    run(async |bench: &Bench<Postgres>| {
        let server = bench.server().connections(1).start().await;
        let first = server.send(&r1()).await;
        leave_open(&server.app.writer, &[]).await;
        grow_old(bench).await;

        assert_problem(&server.send(&r1()).await, "idempotency_store_unavailable");
        assert_replays(&first, &server.send(&r1()).await);
        assert_eq!(server.runs(), 1);
    })
    .await;
}

// The answer was 500, never to be retried, for a fault of one connection.
#[tokio::test]
async fn a_connection_whose_transaction_has_failed_is_not_used() {
    run(async |bench: &Bench<Postgres>| {
        for is_checked in [true, false] {
            let server = bench.server().connections(1);
            // The first request of an engine that did not migrate checks the table as well.
            let server = if is_checked { server.start().await } else { server.unmigrated().start().await };
            leave_open(&server.app.writer, &["SELECT 1 / 0"]).await;
            let request = r1().fresh_key();

            assert_problem(&server.send(&request).await, "idempotency_store_unavailable");
            assert_eq!(server.runs(), 0);
            assert_ran(&server.send(&request).await, 201);
        }
        bench.assert_holds(2, 2).await;
    })
    .await;
}

#[tokio::test]
async fn a_level_that_cannot_be_set_within_a_transaction_is_no_fault_of_the_table() {
    run(async |bench: &Bench<Postgres>| {
        let server = bench
            .server()
            .connections(1)
            .engine(|builder| builder.isolation(idem_runtime::Isolation::Serializable))
            .start()
            .await;
        leave_open(&server.app.writer, &["SELECT count(*) FROM orders"]).await;

        // 25001.
        assert_problem(&server.send(&r1()).await, "idempotency_store_unavailable");
        assert_ran(&server.send(&r1()).await, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

#[tokio::test]
async fn the_writer_is_not_used_within_a_transaction_that_was_left_open() {
    run(async |bench: &Bench<Sqlite>| {
        let server = bench.server().engine(|builder| builder.acquire_timeout(Duration::from_secs(10)));
        let server = server.start().await;
        let insert = "INSERT INTO refunds (tenant, item) VALUES ('t1', 'tea')";
        for statement in ["BEGIN", insert] {
            sqlx::raw_sql(statement).execute(&server.app.writer).await.expect("the file is free");
        }

        assert_problem(&server.send(&r1()).await, "idempotency_store_unavailable");
        assert_eq!(server.runs(), 0);
        assert_eq!(bench.count("refunds").await, 0, "what nobody committed is gone with its connection");
        assert_ran(&server.send(&r1()).await, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}
