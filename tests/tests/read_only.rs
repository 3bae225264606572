//! Pools for look-ups on PostgreSQL, whose sessions are read-only unless a statement asks for more.

use idem_runtime::{Error, ReadOnly};
use idem_tests::bench::{Bench, run};
use idem_tests::database::PgPlace;
use idem_tests::http::r1;
use idem_tests::patience::soon;
use idem_tests::same::assert_ran;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Postgres};

fn one() -> PgPoolOptions {
    PgPoolOptions::new().max_connections(1)
}

/// The options of a session whose transactions are read-only by default, or are not.
fn options(place: &PgPlace, read_only: &str) -> PgConnectOptions {
    place.options().options([("default_transaction_read_only", read_only)])
}

#[track_caller]
fn assert_not_read_only(error: &Error) {
    assert!(matches!(error, Error::Misconfigured(_)), "{error:?}");
    assert!(error.to_string().contains("default_transaction_read_only"), "{error}");
}

#[tokio::test]
async fn a_pool_whose_sessions_write_is_not_taken_for_one_that_reads() {
    run(async |bench: &Bench<Postgres>| {
        let plain = one().connect_lazy_with(bench.place.options());
        let refused = soon(ReadOnly::<PgPool>::verified(plain)).await.expect_err("it can write");
        assert_not_read_only(&refused);

        let by_default = one().connect_lazy_with(options(&bench.place, "on"));
        soon(ReadOnly::<PgPool>::verified(by_default)).await.expect("its sessions are read-only");
    })
    .await;
}

#[tokio::test]
async fn an_option_that_allows_writes_is_overruled() {
    run(async |bench: &Bench<Postgres>| {
        let connected = soon(ReadOnly::<PgPool>::connect(one(), options(&bench.place, "off"))).await;
        let lookups = connected.expect("the server can be reached");

        let refused = soon(sqlx::query("CREATE TABLE others (id bigint)").execute(&*lookups)).await;

        assert!(refused.expect_err("it is a write").to_string().contains("read-only transaction"));
    })
    .await;
}

#[tokio::test]
async fn a_lazy_pool_is_checked_when_it_is_told_to() {
    run(async |bench: &Bench<Postgres>| {
        let lookups = ReadOnly::<PgPool>::connect_lazy(one().min_connections(0), bench.place.options());
        soon(lookups.check()).await.expect("its sessions are read-only");

        // As an application does that rotates its password, and forgets the option.
        lookups.set_connect_options(bench.place.options());
        soon(lookups.acquire()).await.expect("the server can be reached").close().await.expect("it closes");

        assert_not_read_only(&soon(lookups.check()).await.expect_err("new sessions can write"));
    })
    .await;
}

/// What the documentation says that it does not prevent.
#[tokio::test]
async fn a_statement_that_asks_for_it_writes() {
    run(async |bench: &Bench<Postgres>| {
        let server = bench.start().await;
        assert_ran(&server.send(&r1()).await, 201);
        let connected = soon(ReadOnly::<PgPool>::connect(one(), bench.place.options())).await;
        let lookups = connected.expect("the server can be reached");

        let written =
            soon(sqlx::raw_sql("BEGIN READ WRITE; DELETE FROM orders; COMMIT").execute(&*lookups)).await;

        written.expect("the default is not a privilege");
        assert_eq!(bench.count("orders").await, 0);
    })
    .await;
}
