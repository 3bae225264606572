//! What the engine sets on a PostgreSQL session ends with the transaction, and what the application has set
//! is left alone.

use std::time::Duration;

use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, TenantId};
use idem_runtime::{IdempotencyKey, Scope, idempotent};
use idem_tests::bench::{Bench, Launch, run};
use idem_tests::http::r1;
use idem_tests::same::assert_ran;
use serde_json::{Value as JsonValue, json};
use sqlx::{PgConnection, Postgres};

/// The settings that the engine has to do with.
const SETTINGS: [&str; 4] =
    ["idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout", "transaction_isolation"];

/// Answers the session's settings as the handler finds them.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn settings(tx: &mut PgConnection, tenant: TenantId) -> Result<Json<JsonValue>, AppError> {
    let mut found = json!({});
    for name in SETTINGS {
        let value: String =
            sqlx::query_scalar("SELECT current_setting($1)").bind(name).fetch_one(&mut *tx).await?;
        found[name] = json!(value);
    }
    Ok(Json(found))
}

/// The settings that a handler finds, and those that its connection has afterwards.
async fn found_by(launch: Launch<'_, Postgres>) -> [Vec<String>; 2] {
    let routes = Router::<App<Postgres>>::new().route("/settings", post(settings));
    let server = launch.connections(1).routes(routes).start().await;
    let answer = server.send(&r1().path("/settings").fresh_key()).await;
    assert_ran(&answer, 200);
    let found = answer.json();
    let during = SETTINGS.map(|name| found[name].as_str().expect("a text").to_owned());

    let mut afterwards = Vec::new();
    for name in SETTINGS {
        let value =
            sqlx::query_scalar("SELECT current_setting($1)").bind(name).fetch_one(&server.app.writer).await;
        afterwards.push(value.expect("the connection works"));
    }
    [during.to_vec(), afterwards]
}

// Cases: T-14
// Reports: B04
#[tokio::test]
async fn a_frozen_transaction_is_ended_by_the_server_soon_after_the_run_limit() {
    run(async |bench: &Bench<Postgres>| {
        let [during, afterwards] = found_by(bench.server()).await;

        assert_eq!(during, ["65s", "65s", "0", "read committed"]);
        assert_eq!(afterwards, ["0", "0", "0", "read committed"]);
    })
    .await;
}

// Cases: T-14
// Reports: B61
#[tokio::test]
async fn the_time_out_follows_the_run_limit() {
    run(async |bench: &Bench<Postgres>| {
        let limit = Duration::from_secs(10);
        let [during, _] = found_by(bench.server().engine(move |builder| builder.run_limit(limit))).await;

        assert_eq!(during[0], "15s");
    })
    .await;
}

// Cases: T-14
#[tokio::test]
async fn a_shorter_time_out_of_the_applications_stays_and_a_longer_one_is_lowered() {
    run(async |bench: &Bench<Postgres>| {
        for (own, expected) in [("30s", "30s"), ("10min", "65s")] {
            let launch = bench
                .server()
                .session("idle_in_transaction_session_timeout", own)
                .session("statement_timeout", own);
            let [during, afterwards] = found_by(launch).await;

            assert_eq!(during[..2], [expected, expected]);
            assert_eq!(afterwards[..2], [own, own]);
        }
    })
    .await;
}

// Cases: Z-11
#[tokio::test]
async fn the_lock_time_out_of_the_applications_is_put_back_before_the_handler_runs() {
    run(async |bench: &Bench<Postgres>| {
        let launch =
            bench.server().session("lock_timeout", "7s").engine(|builder| builder.advisory_locks(false));
        let [during, afterwards] = found_by(launch).await;

        assert_eq!(during[2], "7s");
        assert_eq!(afterwards[2], "7s");
    })
    .await;
}

// Cases: C-09
#[tokio::test]
async fn the_isolation_level_is_the_handlers_transactions_only() {
    run(async |bench: &Bench<Postgres>| {
        let level = idem_runtime::Isolation::Serializable;
        let [during, afterwards] =
            found_by(bench.server().engine(move |builder| builder.isolation(level))).await;

        assert_eq!(during[3], "serializable");
        assert_eq!(afterwards[3], "read committed");
    })
    .await;
}

// A row read as text would depend on how the session writes bytes.
#[tokio::test]
async fn a_stored_answer_is_found_however_the_session_writes_bytes() {
    run(async |bench: &Bench<Postgres>| {
        for prepared in [true, false] {
            let launch = bench.server().session("bytea_output", "escape");
            let server = launch.engine(move |builder| builder.prepared_statements(prepared)).start().await;
            assert_eq!(server.send(&r1()).await.status, 201);
            let scope = Scope::new().with("tenant", "t1").and_then(|scope| scope.endpoint("POST", "/orders"));
            let key = IdempotencyKey::new("k-0001").expect("a key");
            let scope = scope.expect("a valid scope");

            let found = server.app.idempotency.find(&scope, &key).await.expect("the row can be read");

            assert!(found.is_some_and(|row| row.response.is_some()), "prepared: {prepared}");
        }
    })
    .await;
}
