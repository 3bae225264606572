//! The contract through PgBouncer in transaction mode, and what it leaves there.
//!
//! Every transaction, and every statement outside of one, may go to another server connection than the one before.

use std::collections::BTreeSet;

use idem_runtime::{Error, ReadOnly};
use idem_tests::bench::{Bench, run_at};
use idem_tests::database::{Place as _, pgbouncer};
use idem_tests::http::{open, r1};
use idem_tests::patience::{eventually, soon};
use sqlx::postgres::PgPoolOptions;
use sqlx::{ConnectOptions as _, Executor as _, PgPool, Postgres, Row as _};
use tokio::task::JoinSet;

idem_tests::contract!(
    sqlx::Postgres,
    idem_tests::database::pgbouncer::engine,
    idem_tests::database::pgbouncer::create()
);

/// What a server connection would give the next transaction beside what PgBouncer itself sets for each client.
const SETTINGS: &str = "
    SELECT pg_backend_pid() AS pid,
           concat_ws(', ', nullif(current_setting('idempotency.run', true), ''),
               (SELECT string_agg(name || ' = ' || setting, ', ') FROM pg_settings
                 WHERE source = 'session'
                   AND name NOT IN ('application_name', 'client_encoding', 'DateStyle', 'IntervalStyle',
                                    'TimeZone', 'standard_conforming_strings'))) AS settings";

/// Two hundred requests at once to two processes: orders, failures that are stored, and their duplicates.
async fn load(bench: &Bench<Postgres>) {
    let servers = [bench.start().await, bench.start().await];
    let mut clients = JoinSet::new();
    for client in 0..200 {
        let path = ["/orders", "/declined", "/err", "/boom"][client % 4];
        let request = r1().path(path).key(format!("\"k-{}\"", client % 40));
        let address = servers[client / 4 % 2].address;
        clients.spawn(async move { open(address, &request).await.answer().await.status });
    }
    let statuses: BTreeSet<_> = soon(clients.join_all()).await.into_iter().collect();
    assert!(statuses.is_subset(&BTreeSet::from([201, 402, 409, 422, 500])), "{statuses:?}");
    assert!(statuses.is_superset(&BTreeSet::from([201, 402, 422, 500])), "{statuses:?}");
}

// Cases: Z-10
// Reports: B60
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_lock_and_no_setting_is_left_on_a_server_connection_after_load() {
    run_at(pgbouncer::create(), pgbouncer::engine, async |bench: &Bench<Postgres>| {
        load(bench).await;

        let sessions = bench.place.sessions();
        eventually(async || bench.place.sessions_in_transaction().await == 0).await;
        let locks = format!(
            "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
              WHERE {sessions} AND locktype <> 'virtualxid'"
        );
        assert_eq!(bench.place.integer(&locks).await, 0);
        let servers = format!("SELECT count(*) FROM pg_stat_activity WHERE {sessions}");
        let servers = bench.place.integer(&servers).await;
        assert!(servers > 1, "the load took turns on {servers} server connection");

        // Transactions at the same time have a server each.
        let mut clients = Vec::new();
        let mut pids = BTreeSet::new();
        for _ in 0..servers {
            let mut client = soon(bench.place.options().connect()).await.expect("PgBouncer accepts clients");
            soon(client.execute("BEGIN")).await.expect("a server connection is free");
            let row = soon(client.fetch_one(SETTINGS)).await.expect("the settings");
            assert_eq!(row.get::<&str, _>("settings"), "");
            pids.insert(row.get::<i32, _>("pid"));
            clients.push(client);
        }
        assert_eq!(i64::try_from(pids.len()), Ok(servers), "each was looked at");
    })
    .await;
}

/// A pool of one connection through PgBouncer.
fn pool() -> PgPoolOptions {
    PgPoolOptions::new().max_connections(1)
}

// Cases: Z-10
#[tokio::test]
async fn a_pool_for_look_ups_is_refused_where_its_sessions_would_write() {
    run_at(pgbouncer::create(), pgbouncer::engine, async |bench: &Bench<Postgres>| {
        let by_option = soon(Box::pin(ReadOnly::<PgPool>::connect(pool(), bench.place.options()))).await;
        let by_nothing = pool().connect_lazy_with(bench.place.options());
        let by_nothing = soon(Box::pin(ReadOnly::<PgPool>::verified(by_nothing))).await;

        assert!(matches!(by_option, Err(Error::Store(_))), "PgBouncer takes no such option: {by_option:?}");
        assert!(matches!(by_nothing, Err(Error::Misconfigured(_))), "{by_nothing:?}");
    })
    .await;
}

// Cases: Z-10
#[tokio::test]
async fn a_pool_for_look_ups_is_taken_where_the_server_makes_its_sessions_read_only() {
    run_at(pgbouncer::create(), pgbouncer::engine, async |bench: &Bench<Postgres>| {
        let alter = "format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database())";
        bench.place.execute(&format!("DO $$ BEGIN EXECUTE {alter}; END $$")).await;

        let lookups = pool().connect_lazy_with(bench.place.options());
        let lookups =
            soon(Box::pin(ReadOnly::<PgPool>::verified(lookups))).await.expect("its sessions only read");

        let written = soon(lookups.execute("CREATE TABLE t ()")).await;
        assert!(written.is_err());
    })
    .await;
}
