//! The contract on SQLite, and what is SQLite's own.

use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use idem_examples::reference::{
    App, AppError, Database as _, NewOrder, Order, TenantId, Value, insert_order,
};
use idem_runtime::{Claim, InboxError, ReadOnly, SqlitePools, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::consumer::{Consumer, QUEUE, apply};
use idem_tests::database::Place as _;
use idem_tests::http::r1;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{AssertSqlSafe, Connection as _, Sqlite, SqliteConnection, SqlitePool, Transaction};
use tokio::task::JoinSet;

idem_tests::contract!(sqlx::Sqlite);

// Cases: Z-02
#[tokio::test]
async fn a_file_held_by_another_process_is_unavailable_and_never_in_progress() {
    run(async |bench: &Bench<Sqlite>| {
        let server = bench
            .server()
            .engine(|builder| builder.acquire_timeout(Duration::from_millis(200)))
            .start()
            .await;
        let mut other_process =
            bench.place.pool().begin_with("BEGIN IMMEDIATE").await.expect("the file is free");
        sqlx::query("DELETE FROM orders").execute(&mut *other_process).await.expect("it may write");

        // Five seconds of busy_timeout.
        let refused = server.send(&r1()).await;
        other_process.rollback().await.expect("it may roll back");

        assert_problem(&refused, "idempotency_store_unavailable");
        assert_eq!(server.runs(), 0);
        assert_ran(&server.send(&r1()).await, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: Z-02
#[tokio::test]
async fn a_file_that_another_process_lets_go_in_time_is_waited_for() {
    run(async |bench: &Bench<Sqlite>| {
        let server = bench.start().await;
        let other_process = bench.place.pool().begin_with("BEGIN IMMEDIATE").await.expect("the file is free");

        let waiting = server.open(&r1()).await;
        other_process.rollback().await.expect("it may roll back");

        assert_ran(&waiting.answer().await, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

/// Reads, then writes: on a transaction that was not immediate the write would fail with
/// `SQLITE_BUSY_SNAPSHOT` when another process has written in between.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn reads_before_it_writes(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    let sql = "SELECT count(*) FROM orders WHERE tenant = $1";
    Sqlite::integer(&mut *tx, sql, &[Value::Text(&tenant.0)]).await?;
    Ok((StatusCode::CREATED, Json(insert_order::<Sqlite>(&mut *tx, &tenant, &order).await?)))
}

// Cases: Z-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_reads_first_never_meets_a_stale_snapshot() {
    run(async |bench: &Bench<Sqlite>| {
        let routes = || Router::<App<Sqlite>>::new().route("/orders", post(reads_before_it_writes));
        let servers =
            [bench.server().routes(routes()).start().await, bench.server().routes(routes()).start().await];

        let mut clients = JoinSet::new();
        for client in 0..60 {
            let address = servers[client % 2].address;
            let request = r1().fresh_key();
            clients.spawn(async move {
                let first = idem_tests::http::open(address, &request).await.answer().await;
                let again = idem_tests::http::open(address, &request).await.answer().await;
                (first, again)
            });
        }

        while let Some(client) = clients.join_next().await {
            let (first, again) = client.expect("no client panics");
            assert_ran(&first, 201);
            assert_replays(&first, &again);
        }
        bench.assert_holds(60, 60).await;
    })
    .await;
}

/// Whether a statement through `lookups` fails.
async fn refuses(lookups: &SqlitePool, sql: &str) -> bool {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(lookups).await.is_err()
}

#[tokio::test]
async fn no_statement_makes_a_read_only_pool_write() {
    run(async |bench: &Bench<Sqlite>| {
        let server = bench.start().await;
        assert_ran(&server.send(&r1()).await, 201);
        let url = bench.place.url();
        let options = url.parse().expect("the URL can be read");
        let own = SqlitePoolOptions::new().max_connections(1);
        let own = ReadOnly::<SqlitePool>::connect(own, options).await.expect("the file is there");
        let file = url.strip_prefix("sqlite://").expect("the URL of a file");

        for lookups in [own, bench.place.lookups().await] {
            for sql in [
                "PRAGMA query_only = off; DELETE FROM orders".to_owned(),
                "PRAGMA writable_schema = on; DELETE FROM orders".to_owned(),
                "BEGIN IMMEDIATE; DELETE FROM orders; COMMIT".to_owned(),
                format!("ATTACH '{file}' AS again; DELETE FROM again.orders"),
                format!("ATTACH 'file:{file}?mode=rw' AS anew; DELETE FROM anew.orders"),
                format!("ATTACH 'file:{file}-other?mode=rwc' AS other; CREATE TABLE other.others (id)"),
            ] {
                assert!(refuses(&lookups, &sql).await, "{sql}");
            }
        }

        bench.assert_holds(1, 1).await;
    })
    .await;
}

/// With the last connection that writes, SQLite removes the files that readers share with it.
#[tokio::test]
async fn a_read_only_pool_opens_a_file_that_nobody_has_open() {
    run(async |bench: &Bench<Sqlite>| {
        let server = bench.start().await;
        assert_ran(&server.send(&r1()).await, 201);
        server.app.writer.close().await;
        server.app.reader.close().await;
        bench.place.pool().close().await;

        let options = bench.place.url().parse().expect("the URL can be read");
        let lookups = ReadOnly::<SqlitePool>::connect_lazy(SqlitePoolOptions::new(), options);
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM orders")
            .fetch_one(&*lookups)
            .await
            .expect("the file opens");

        assert_eq!(count, 1);
        lookups.close().await;
        let pools = SqlitePools::connect(&bench.place.url()).await.expect("the file opens again");
        let written = sqlx::query("DELETE FROM orders").execute(pools.writer()).await;
        assert_eq!(written.expect("the file can be written").rows_affected(), 1);
    })
    .await;
}

/// A transaction that has claimed a message, and that SQLite has ended by itself since.
async fn ended_by_a_conflict(consumer: &Consumer<Sqlite>, is_nested: bool) -> Transaction<'static, Sqlite> {
    let mut tx = consumer.begin().await;
    let claim = consumer.inbox.claim(&mut tx, QUEUE, "m-1").await.expect("nobody is in the way");
    assert_eq!(claim, Claim::Fresh);
    let conflict = "INSERT OR ROLLBACK INTO numbers VALUES (1)";
    if is_nested {
        let mut nested = tx.begin().await.expect("a savepoint");
        sqlx::query(conflict).execute(&mut *nested).await.expect_err("the number is there");
    } else {
        sqlx::query(conflict).execute(&mut *tx).await.expect_err("the number is there");
    }
    tx
}

async fn with_numbers(bench: &Bench<Sqlite>) -> Consumer<Sqlite> {
    let consumer = Consumer::start(bench, "billing").await;
    bench.place.execute("CREATE TABLE numbers (number INTEGER UNIQUE)").await;
    bench.place.execute("INSERT INTO numbers VALUES (1)").await;
    consumer
}

// It was committed by itself, so that a message whose work failed was a duplicate when it came again.
#[tokio::test]
async fn a_message_is_not_claimed_in_a_transaction_that_sqlite_has_ended() {
    run(async |bench: &Bench<Sqlite>| {
        let consumer = with_numbers(bench).await;
        let mut tx = ended_by_a_conflict(&consumer, false).await;

        let claim = consumer.inbox.claim(&mut tx, QUEUE, "m-2").await;

        assert!(matches!(claim, Err(InboxError::NoTransaction)), "{claim:?}");
        drop(tx);
        assert_eq!(bench.count_keys().await, 0);
    })
    .await;
}

// The only writer came back from the pool as if it were in a transaction, and no other could be begun on it.
#[tokio::test]
async fn the_writer_is_of_use_after_a_commit_of_a_transaction_that_sqlite_has_ended() {
    run(async |bench: &Bench<Sqlite>| {
        let consumer = with_numbers(bench).await;
        for is_nested in [false, true] {
            let tx = ended_by_a_conflict(&consumer, is_nested).await;

            consumer.inbox.commit(tx).await.expect_err("nothing is left to commit");

            let mut tx = consumer.begin().await;
            let claim = consumer.inbox.claim(&mut tx, QUEUE, &is_nested.to_string()).await;
            assert_eq!(claim.expect("nobody is in the way"), Claim::Fresh, "nested: {is_nested}");
            apply::<Sqlite>(&mut tx, "m-1").await.expect("it works");
            consumer.inbox.commit(tx).await.expect("it commits");
        }
        assert_eq!(bench.count("audit").await, 2);
        assert_eq!(bench.count_keys().await, 2);
    })
    .await;
}
