//! What may be set, and what a run leaves of the settings of its session.

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use idem_examples::reference::{App, AppError, TenantId};
use idem_runtime::{BuildError, Builder, Guard, Idempotency, Policy, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::r1;
use idem_tests::patience::soon;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgConnection, PgPool, Postgres};

/// An engine that never meets a server.
fn builder() -> Builder<Postgres> {
    let pool = PgPoolOptions::new().connect_lazy("postgres://nobody@localhost/nothing");
    Idempotency::builder(pool.expect("the URL can be read"))
}

// A run limit of thirty days made every request with a key a 500, and an endless acquire time-out a panic.
// Reports: B49
#[tokio::test]
async fn a_time_out_of_range_is_refused() {
    const DAY: Duration = Duration::from_hours(24);
    const NANOSECOND: Duration = Duration::from_nanos(1);
    let run_limit = |limit| builder().run_limit(limit).build().err();
    let acquire_timeout = |limit| builder().acquire_timeout(limit).build().err();

    for limit in [Duration::from_secs(1), DAY] {
        assert_eq!(run_limit(limit), None, "{limit:?}");
    }
    for limit in [Duration::ZERO, Duration::from_nanos(999_999_999), DAY + NANOSECOND, Duration::MAX] {
        assert_eq!(run_limit(limit), Some(BuildError::RunLimit), "{limit:?}");
    }
    for limit in [NANOSECOND, DAY] {
        assert_eq!(acquire_timeout(limit), None, "{limit:?}");
    }
    for limit in [Duration::ZERO, DAY + NANOSECOND, Duration::MAX] {
        assert_eq!(acquire_timeout(limit), Some(BuildError::AcquireTimeout), "{limit:?}");
    }
}

/// The two time-outs of a session and its lock time-out.
const TIME_OUTS: &str = "SELECT concat_ws(', ', current_setting('statement_timeout'), \
    current_setting('idle_in_transaction_session_timeout'), current_setting('lock_timeout'))";

#[idempotent(scope = "tenant,endpoint", ttl = "24h", required = false)]
async fn tells_its_time_outs(tx: &mut PgConnection, tenant: TenantId) -> Result<String, AppError> {
    Ok(sqlx::query_scalar(TIME_OUTS).fetch_one(&mut *tx).await?)
}

async fn time_outs(pool: &PgPool) -> String {
    soon(sqlx::query_scalar(TIME_OUTS).fetch_one(pool)).await.expect("the connection is free")
}

// Nothing ended a statement of a handler that was stopped.
#[tokio::test]
async fn a_run_lowers_the_time_outs_of_its_session_and_gives_them_back() {
    run(async |bench: &Bench<Postgres>| {
        for advisory_locks in [true, false] {
            for (session, within) in [
                ("0, 0, 0", "15s, 15s, 0"),
                ("500ms, 700ms, 3s", "500ms, 700ms, 3s"),
                ("15s, 15s, 0", "15s, 15s, 0"),
                ("1h, 2h, 0", "15s, 15s, 0"),
                ("1h, 700ms, 1h", "15s, 700ms, 1h"),
            ] {
                let mut values = session.split(", ");
                let mut next = || values.next().expect("three values");
                let routes = Router::<App<Postgres>>::new().route("/orders", post(tells_its_time_outs));
                let server = bench
                    .server()
                    .connections(1)
                    .session("statement_timeout", next())
                    .session("idle_in_transaction_session_timeout", next())
                    .session("lock_timeout", next())
                    .routes(routes)
                    .engine(move |builder| {
                        builder.run_limit(Duration::from_secs(10)).advisory_locks(advisory_locks)
                    })
                    .start()
                    .await;
                let request = r1().fresh_key();
                assert_eq!(time_outs(&server.app.writer).await, session);

                let first = server.send(&request).await;

                assert_ran(&first, 200);
                assert_eq!(first.text(), within, "of {session}, advisory locks: {advisory_locks}");
                assert_eq!(time_outs(&server.app.writer).await, session);
                assert_replays(&first, &server.send(&request).await);
                assert_eq!(time_outs(&server.app.writer).await, session);

                // A stopped handler's statement went on, and held what it had locked.
                let without_key = server.send(&r1().without("Idempotency-Key")).await;
                assert_eq!(without_key.text(), within, "of {session}, without a key");
                assert_eq!(time_outs(&server.app.writer).await, session);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_largest_answer_out_of_range_is_refused() {
    const LARGEST: usize = 512 * 1024 * 1024;
    let max_response = |bytes| builder().max_response(bytes).build().err();

    for bytes in [1, LARGEST] {
        assert_eq!(max_response(bytes), None, "{bytes}");
    }
    for bytes in [0, LARGEST + 1, usize::MAX] {
        assert_eq!(max_response(bytes), Some(BuildError::MaxResponse), "{bytes}");
    }
}

/// Tells its time-outs, in an operation whose key lives for five seconds.
async fn tells_its_shorter_time_outs(guard: Guard<Postgres>, tenant: TenantId) -> Response {
    let operation = guard.by_hand().scope("tenant", &tenant).endpoint().ttl(Duration::from_secs(5));
    let work = operation.run(|tx, _| {
        Box::pin(async move {
            let time_outs = sqlx::query_scalar::<_, String>(TIME_OUTS).fetch_one(&mut **tx).await;
            time_outs.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
        })
    });
    work.await
}

/// A policy whose handlers have a level and a limit of their own.
#[derive(Policy)]
#[policy(scope = "tenant,endpoint", isolation = "serializable", run_limit = "7s", in_progress = "wait 5s")]
struct Strict {
    tenant: TenantId,
}

const LEVEL: &str = "SELECT current_setting('transaction_isolation')";

/// Tells its level and its time-outs.
#[idempotent(policy = Strict)]
async fn strict(tx: &mut PgConnection) -> Result<String, AppError> {
    let level: String = sqlx::query_scalar(LEVEL).fetch_one(&mut *tx).await?;
    let time_outs: String = sqlx::query_scalar(TIME_OUTS).fetch_one(&mut *tx).await?;
    Ok(format!("{level}, {time_outs}"))
}

#[tokio::test]
async fn a_policy_sets_level_and_limit_of_its_own_handlers_only() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new()
            .route("/orders", post(tells_its_time_outs))
            .route("/strict", post(strict));
        let server = bench.server().connections(1).routes(routes).start().await;

        for _ in 0..2 {
            let strict = server.send(&r1().path("/strict").fresh_key()).await;
            assert_eq!(strict.text(), "serializable, 12s, 12s, 0");
            assert_eq!(server.send(&r1().fresh_key()).await.text(), "65s, 65s, 0");
        }
    })
    .await;
}

// The limit was written into the statement when the engine was built, the same for every handler.
#[tokio::test]
async fn the_server_is_told_the_limit_of_each_run() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new()
            .route("/orders", post(tells_its_time_outs))
            .route("/short", post(tells_its_shorter_time_outs));
        let server = bench
            .server()
            .connections(1)
            .routes(routes)
            .engine(|builder| builder.run_limit(Duration::from_secs(20)))
            .start()
            .await;

        let usual = server.send(&r1()).await;
        let short = server.send(&r1().path("/short")).await;
        let again = server.send(&r1().fresh_key()).await;

        assert_eq!(usual.text(), "25s, 25s, 0");
        assert_eq!(short.text(), "10s, 10s, 0");
        assert_eq!(again.text(), "25s, 25s, 0");
    })
    .await;
}

// The table was migrated under an advisory lock and the row found by `ctid` whatever the switches said.
// Cases: Z-11
// Reports: B60
#[tokio::test]
async fn without_advisory_locks_and_xmin_nothing_asks_for_them() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let server = bench
            .server()
            .through(&proxy)
            .engine(|builder| builder.advisory_locks(false).xmin_check(false))
            .start()
            .await;

        // Every statement: a run, a replay, one that is expired, a stored failure, a row that is gone.
        assert_ran(&server.send(&r1()).await, 201);
        assert!(server.send(&r1()).await.is_replay());
        bench.expire_in(-1).await;
        assert_ran(&server.send(&r1()).await, 201);
        assert_ran(&server.send(&r1().path("/err")).await, 422);
        bench.place.execute(&format!("DROP TABLE {}", bench.place.key_table())).await;
        assert_problem(&server.send(&r1()).await, "idempotency_store_misconfigured");

        let rounds = proxy.rounds();
        for statement in ["CREATE TABLE", "INSERT INTO", "UPDATE", "AS stored", "LEFT JOIN"] {
            assert!(rounds.iter().any(|round| round.sql.contains(statement)), "{statement}");
        }
        for round in rounds {
            for missing in ["pg_advisory", "advisory_xact", "xmin", "ctid::", "ctid =", "pg_current_xact_id"]
            {
                assert!(!round.sql.contains(missing), "{missing} in {}", round.sql);
            }
        }
    })
    .await;
}
