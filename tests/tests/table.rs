//! Key tables that would not keep the promise are refused before anything is promised.

use idem_runtime::Error;
use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::r1;
use idem_tests::problem::assert_problem;
use idem_tests::same::assert_ran;
use sqlx::{Postgres, Sqlite};

/// Changes the key table by these statements, in which `{}` is its name, and asserts that the check refuses
/// it in words that contain `complaint`, and that no request runs.
async fn assert_refused(statements: &'static [&'static str], complaint: &'static str) {
    run(async |bench: &Bench<Postgres>| {
        drop(bench.start().await);
        for statement in statements {
            bench.place.execute(&statement.replace("{}", &bench.place.key_table())).await;
        }

        // A process that starts now.
        let server = bench.server().unmigrated().start().await;
        let refused = server.app.idempotency.check().await.expect_err("the table will not do");
        let answer = server.send(&r1()).await;

        assert!(matches!(&refused, Error::Misconfigured(_)), "{refused:?}");
        assert!(refused.to_string().contains(complaint), "{refused}");
        assert_problem(&answer, "idempotency_store_misconfigured");
        assert_eq!(server.runs(), 0);
        assert_eq!(bench.count("orders").await, 0);
    })
    .await;
}

// Cases: T-23
// Reports: B40
#[tokio::test]
async fn a_table_without_a_primary_key_is_refused() {
    assert_refused(&["ALTER TABLE {} DROP CONSTRAINT idempotency_keys_pkey"], "primary key").await;
}

// Cases: T-23
// Reports: B40
#[tokio::test]
async fn a_primary_key_on_more_than_the_id_is_refused() {
    assert_refused(
        &[
            "ALTER TABLE {} DROP CONSTRAINT idempotency_keys_pkey",
            "ALTER TABLE {} ADD PRIMARY KEY (id, scope)",
        ],
        "primary key",
    )
    .await;
}

// Cases: T-23
#[tokio::test]
async fn a_deferrable_primary_key_is_refused() {
    assert_refused(
        &[
            "ALTER TABLE {} DROP CONSTRAINT idempotency_keys_pkey",
            "ALTER TABLE {} ADD PRIMARY KEY (id) DEFERRABLE INITIALLY DEFERRED",
        ],
        "primary key",
    )
    .await;
}

// Cases: T-23
#[tokio::test]
async fn an_unlogged_table_is_refused() {
    assert_refused(&["ALTER TABLE {} SET UNLOGGED"], "permanent").await;
}

// Cases: T-23
// Reports: B40
#[tokio::test]
async fn a_table_that_lacks_a_column_is_refused() {
    assert_refused(&["ALTER TABLE {} DROP COLUMN completed_at"], "completed_at").await;
}

// Cases: T-23
#[tokio::test]
async fn row_level_security_that_applies_is_refused() {
    run(async |bench: &Bench<Postgres>| {
        let table = bench.place.key_table();
        drop(bench.start().await);
        bench.place.execute(&format!("ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")).await;
        bench.place.execute(&format!("ALTER TABLE {table} FORCE ROW LEVEL SECURITY")).await;
        // Superusers bypass it, so a role that does not.
        let role = bench.place.role_with_the_tables().await;

        let server = bench.server().session("role", &role).unmigrated().start().await;
        let refused = server.app.idempotency.check().await.expect_err("the table will not do");

        assert!(refused.to_string().contains("row-level security"), "{refused}");
        assert_problem(&server.send(&r1()).await, "idempotency_store_misconfigured");
    })
    .await;
}

// Cases: T-23
#[tokio::test]
async fn a_role_without_the_grants_is_refused() {
    run(async |bench: &Bench<Postgres>| {
        drop(bench.start().await);
        let role = bench.place.role_with_the_tables().await;
        bench.place.execute(&format!("REVOKE UPDATE ON {} FROM {role}", bench.place.key_table())).await;

        let server = bench.server().session("role", &role).unmigrated().start().await;
        let refused = server.app.idempotency.check().await.expect_err("the role may not");

        assert!(refused.to_string().contains("UPDATE"), "{refused}");
        assert_problem(&server.send(&r1()).await, "idempotency_store_misconfigured");
    })
    .await;
}

// Cases: T-23, T-29
#[tokio::test]
async fn a_role_with_select_insert_and_update_is_enough() {
    run(async |bench: &Bench<Postgres>| {
        drop(bench.start().await);
        let role = bench.place.role_with_the_tables().await;
        let server = bench.server().session("role", &role).unmigrated().start().await;

        server.app.idempotency.check().await.expect("the role may");
        assert_ran(&server.send(&r1()).await, 201);
        assert_ran(&server.send(&r1().path("/err")).await, 422);
        bench.assert_holds(2, 1).await;
    })
    .await;
}

// Cases: T-23
// Reports: B40
#[tokio::test]
async fn a_sqlite_table_without_its_primary_key_is_refused() {
    run(async |bench: &Bench<Sqlite>| {
        drop(bench.start().await);
        for statement in [
            "CREATE TABLE copied AS SELECT * FROM idempotency_keys",
            "DROP TABLE idempotency_keys",
            "CREATE TABLE idempotency_keys AS SELECT * FROM copied",
        ] {
            bench.place.execute(statement).await;
        }

        let server = bench.server().unmigrated().start().await;
        let refused = server.app.idempotency.check().await.expect_err("the table will not do");

        assert!(refused.to_string().contains("primary key"), "{refused}");
        assert_problem(&server.send(&r1()).await, "idempotency_store_misconfigured");
        assert_eq!(server.runs(), 0);
    })
    .await;
}

// Cases: R-01
#[tokio::test]
async fn the_table_may_have_another_name() {
    run(async |bench: &Bench<Postgres>| {
        let name = format!("{}.keys_of_this_application", bench.place.schema());
        let table = name.clone();
        let server = bench.server().engine(move |builder| builder.table(table)).start().await;

        assert_ran(&server.send(&r1()).await, 201);

        assert_eq!(bench.count(&name).await, 1);
    })
    .await;
    run(async |bench: &Bench<Sqlite>| {
        let server = bench.server().engine(|builder| builder.table("keys_of_this_application")).start().await;

        assert_ran(&server.send(&r1()).await, 201);

        assert_eq!(bench.count("keys_of_this_application").await, 1);
    })
    .await;
}
