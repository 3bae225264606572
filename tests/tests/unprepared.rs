//! Statements without names, as a pooler needs them that gives each transaction another server connection and knows no
//! prepared statements.

use std::collections::BTreeSet;

use axum::Router;
use axum::routing::post;
use idem_examples::reference::{App, AppError, Database as _, TenantId, routes};
use idem_runtime::{IdempotencyKey, Scope, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::http::r1;
use idem_tests::patience::soon;
use idem_tests::problem::assert_problem;
use idem_tests::proxy::{Round, RoundKind};
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::{Executor as _, PgConnection, Postgres, Row as _};

#[idempotent(scope = "tenant,endpoint", required = false)]
async fn needs_no_key(tx: &mut PgConnection, tenant: TenantId) -> Result<&'static str, AppError> {
    Postgres::integer(&mut *tx, "SELECT count(*) FROM orders", &[]).await?;
    Ok("done")
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn commits_by_itself(tx: &mut PgConnection, tenant: TenantId) -> Result<&'static str, AppError> {
    Postgres::execute(&mut *tx, "COMMIT", &[]).await?;
    Ok("done")
}

/// Has an engine send every statement that it has, and returns the rounds, and how many statements of the engine its
/// connection has kept by name.
async fn every_statement(bench: &Bench<Postgres>, prepared: bool) -> (Vec<Round>, i64) {
    let proxy = bench.proxy().await;
    let server = bench
        .server()
        .connections(1)
        .through(&proxy)
        .engine(move |builder| builder.prepared_statements(prepared))
        .router(|app| {
            let own = Router::new()
                .route("/optional", post(needs_no_key))
                .route("/commit", post(commits_by_itself));
            routes::<Postgres, App<Postgres>>().merge(own).with_state(app)
        })
        .start()
        .await;

    // A run, its replay, a run in place of one that has expired, failures that are stored, and a run without a key.
    let first = server.send(&r1()).await;
    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.expire_in(-1).await;
    assert_ran(&server.send(&r1()).await, 201);
    for (path, status) in [("/err", 422), ("/boom", 500)] {
        let failed = server.send(&r1().path(path)).await;
        assert_ran(&failed, status);
        assert_replays(&failed, &server.send(&r1().path(path)).await);
    }
    assert_ran(&server.send(&r1().path("/optional").without("Idempotency-Key")).await, 200);
    // What an operator asks.
    let scope = Scope::new().with("tenant", "t1").and_then(|scope| scope.endpoint("POST", "/orders"));
    let scope = scope.expect("a valid scope");
    let key = IdempotencyKey::new("k-0001").expect("a key");
    let idempotency = &server.app.idempotency;
    assert!(idempotency.find(&scope, &key).await.expect("the row can be read").is_some());
    assert!(idempotency.forget(&scope, &key).await.expect("the row can be deleted"));
    assert_eq!(idempotency.sweep_once().await.expect("rows can be swept"), 0);
    idempotency.health().await.expect("the table can be read");
    let names = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%idempotency_keys%'";
    let names = soon(server.app.writer.fetch_one(names)).await.expect("the connection works");
    // A row without an answer. The connection is closed afterwards.
    assert_problem(&server.send(&r1().path("/commit")).await, "idempotency_outcome_unknown");
    assert_problem(&server.send(&r1().path("/commit")).await, "idempotency_needs_reconciliation");

    let rounds = proxy.rounds();
    for statement in [
        "CREATE TABLE",
        "row_security_active",
        "ON CONFLICT",
        "LEFT JOIN",
        "AS stored",
        "DELETE",
        "SKIP LOCKED",
    ] {
        assert!(rounds.iter().any(|round| round.sql.contains(statement)), "{statement}");
    }
    (rounds, names.get(0))
}

/// The statements that are prepared while their connection is in no transaction: a pooler may have another server run
/// them.
fn prepared_outside_a_transaction(rounds: &[Round]) -> Vec<&str> {
    let mut in_transaction = BTreeSet::new();
    let mut found = Vec::new();
    for Round { connection, kind, sql } in rounds {
        match kind {
            RoundKind::Run if sql.starts_with("BEGIN") => {
                in_transaction.insert(connection);
            }
            RoundKind::Run if sql.starts_with("COMMIT") || sql.starts_with("ROLLBACK") => {
                in_transaction.remove(connection);
            }
            RoundKind::Prepare if !in_transaction.contains(connection) => found.push(sql.as_str()),
            _ => {}
        }
    }
    found
}

// Behind a pooler the engine's look at its table failed, and a stored failure or a lost transaction could be read by one
// server and run by another.
// Cases: Z-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_prepared_statements_none_is_named_or_leaves_its_transaction() {
    run(async |bench: &Bench<Postgres>| {
        let (rounds, names) = every_statement(bench, false).await;

        assert_eq!(prepared_outside_a_transaction(&rounds), [""; 0]);
        assert_eq!(names, 0);
    })
    .await;
}

/// What the test above would find is there without the setting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prepared_statements_are_kept_by_name() {
    run(async |bench: &Bench<Postgres>| {
        let (rounds, names) = every_statement(bench, true).await;

        assert_ne!(prepared_outside_a_transaction(&rounds), [""; 0]);
        assert!(names >= 4, "RESERVE, the look-up, RECORD, the stored failure: {names}");
    })
    .await;
}

// A client that drops off the network between the two would hold the key for as long as the server believes in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_transaction_of_a_run_is_bounded_by_the_server() {
    run(async |bench: &Bench<Postgres>| {
        let (rounds, _) = every_statement(bench, false).await;

        let runs: Vec<_> = rounds.iter().filter(|round| round.kind == RoundKind::Run).collect();
        for (begun, round) in runs.iter().enumerate().filter(|(_, round)| round.sql.starts_with("BEGIN")) {
            let mut first = runs[begun..].iter().filter(|later| later.connection == round.connection);
            // In the message itself, or in the reserving statement that follows it; or the migration's, which holds no key.
            let is_bounded = first.by_ref().take(2).any(|later| {
                later.sql.contains("set_config('idle_in_transaction_session_timeout'")
                    || later.sql.contains("pg_advisory_xact_lock")
            });
            assert!(is_bounded, "{round:?}");
        }
    })
    .await;
}
