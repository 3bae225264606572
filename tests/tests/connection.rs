//! The connection to PostgreSQL is lost, or a statement is late, at a chosen moment.

use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use idem_examples::reference::{App, AppError, Database as _, NewOrder, Probe, TenantId, insert_order};
use idem_runtime::{Builder, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::r1;
use idem_tests::patience::eventually;
use idem_tests::problem::assert_problem;
use idem_tests::proxy::At;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::{PgTransaction, Postgres};

/// How a statement on the key table is told from others.
const KEY_TABLE: &str = "idempotency_keys";

// Cases: T-06
// Reports: B41
#[tokio::test]
async fn a_connection_lost_before_commit_is_transient() {
    run(async |bench: &Bench<Postgres>| {
        let server = bench.start().await;
        let slow = r1().path("/slow");

        let first = server.open_up_to_the_gate(&slow).await;
        assert_eq!(bench.place.terminate_transactions().await, 1);
        server.gate().open();

        assert_problem(&first.answer().await, "idempotency_transient");
        bench.assert_holds(0, 0).await;
        let again = server.retry(&slow).await;
        assert_ran(&again, 201);
        assert_eq!(server.runs(), 2);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: T-07
// Reports: B56
#[tokio::test]
async fn a_commit_whose_reply_is_lost_is_unknown_and_then_replayed() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = bench.start_behind_a_proxy().await;

        let mut commit = proxy.hold(At::Reply, |round| round.runs("COMMIT"));
        let first = server.open(&r1()).await;
        commit.reached().await;
        commit.cut();

        assert_problem(&first.answer().await, "idempotency_outcome_unknown");
        bench.assert_holds(1, 1).await;
        let again = server.send(&r1()).await;
        assert_eq!(again.status, 201);
        assert!(again.is_replay());
        assert_eq!(server.runs(), 1);
    })
    .await;
}

// Cases: T-07
// Reports: B41, B56
#[tokio::test]
async fn a_commit_that_never_arrives_is_unknown_and_then_run() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = bench.start_behind_a_proxy().await;

        let mut commit = proxy.hold(At::Request, |round| round.runs("COMMIT"));
        let first = server.open(&r1()).await;
        commit.reached().await;
        commit.cut();

        assert_problem(&first.answer().await, "idempotency_outcome_unknown");
        let again = server.retry(&r1()).await;
        assert_ran(&again, 201);
        assert_eq!(server.runs(), 2);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: T-07
// Reports: B23
#[tokio::test]
async fn no_answer_leaves_before_the_commit_is_acknowledged() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = bench.start_behind_a_proxy().await;

        let mut commit = proxy.hold(At::Reply, |round| round.runs("COMMIT"));
        let mut first = Box::pin(server.open(&r1()).await.answer());
        commit.reached().await;
        // Committed, as anyone can see, and the application does not know it yet.
        bench.assert_holds(1, 1).await;
        let early = tokio::time::timeout(Duration::from_millis(200), &mut first).await;
        let duplicate = server.send(&r1()).await;
        commit.release();

        assert!(early.is_err(), "{early:?}");
        assert_problem(&duplicate, "idempotency_in_progress");
        assert_ran(&first.await, 201);
    })
    .await;
}

// Cases: T-14
// Reports: B58
#[tokio::test]
async fn a_session_ended_for_idling_leaves_the_key_free() {
    run(async |bench: &Bench<Postgres>| {
        let impatient = bench.server().session("idle_in_transaction_session_timeout", "200").start().await;
        let other = bench.start().await;
        let slow = r1().path("/slow");
        other.gate().open();

        let first = impatient.open_up_to_the_gate(&slow).await;
        eventually(async || bench.place.sessions_in_transaction().await == 0).await;
        let elsewhere = other.send(&slow).await;
        let here = impatient.send(&slow).await;
        impatient.gate().open();

        assert_ran(&elsewhere, 201);
        assert_problem(&here, "idempotency_in_progress");
        assert_problem(&first.answer().await, "idempotency_transient");
        assert_replays(&elsewhere, &impatient.send(&slow).await);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: C-14
#[tokio::test]
async fn a_wrong_body_on_its_way_does_not_refuse_the_right_one() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = bench.start_behind_a_proxy().await;
        let first = server.send(&r1()).await;

        let mut look_up = proxy.hold(At::Request, |round| round.runs(KEY_TABLE));
        let wrong = server.open(&r1().body(r#"{"item":"tea","qty":2}"#)).await;
        look_up.reached().await;
        let right = server.open(&r1()).await;
        look_up.release();

        assert_replays(&first, &right.answer().await);
        assert_problem(&wrong.answer().await, "idempotency_key_reused");
        assert_eq!(server.runs(), 1);
    })
    .await;
}

// Cases: X-13
#[tokio::test]
async fn a_row_that_vanishes_between_conflict_and_look_up_is_no_obstacle() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = bench.start_behind_a_proxy().await;
        assert_ran(&server.send(&r1()).await, 201);

        let mut look_up =
            proxy.hold(At::Request, |round| round.runs(KEY_TABLE) && round.sql.starts_with("SELECT"));
        let request = server.open(&r1()).await;
        look_up.reached().await;
        bench.place.execute(&format!("DELETE FROM {}", bench.place.key_table())).await;
        look_up.release();

        assert_ran(&request.answer().await, 201);
        bench.assert_holds(1, 2).await;
    })
    .await;
}

// Cases: T-22
// Reports: B70
#[tokio::test]
async fn a_database_that_cannot_be_reached_is_unavailable() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let server = bench
            .server()
            .through(&proxy)
            .engine(|builder| builder.acquire_timeout(Duration::from_millis(500)))
            .start()
            .await;
        assert_ran(&server.send(&r1()).await, 201);

        proxy.stop();
        let answer = server.send(&r1().fresh_key()).await;

        assert_problem(&answer, "idempotency_store_unavailable");
        assert_eq!(server.runs(), 1);
        // The pool cannot be whole with its server gone.
        server.stop().await;
    })
    .await;
}

// Cases: T-22, T-09
#[tokio::test]
async fn a_begin_that_comes_too_late_leaves_no_transaction_in_the_pool() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let limit = |builder: Builder<Postgres>| builder.acquire_timeout(Duration::from_millis(500));
        let server = bench.server().connections(1).through(&proxy).engine(limit).start().await;

        let mut begin = proxy.hold(At::Reply, |round| round.runs("BEGIN"));
        let first = server.open(&r1()).await;
        begin.reached().await;
        assert_problem(&first.answer().await, "idempotency_store_unavailable");
        begin.release();

        bench.place.assert_whole(&server.app.writer).await;
        assert_eq!(server.runs(), 0);
        assert_ran(&server.send(&r1()).await, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: T-22
// Reports: B03
#[tokio::test]
async fn a_database_that_does_not_reply_is_unavailable_to_all_who_wait() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let limit = |builder: Builder<Postgres>| builder.acquire_timeout(Duration::from_millis(500));
        let server = bench.server().through(&proxy).engine(limit).start().await;

        let mut reserve = proxy.hold(At::Reply, |round| round.runs(KEY_TABLE));
        let first = server.open(&r1()).await;
        reserve.reached().await;
        let duplicate = server.open(&r1()).await;
        let answers = [first.answer().await, duplicate.answer().await];
        reserve.cut();

        for answer in answers {
            assert_problem(&answer, "idempotency_store_unavailable");
        }
        assert_eq!(server.runs(), 0);
        assert_ran(&server.retry(&r1()).await, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn sleeps_in_the_database(
    tx: &mut PgTransaction<'_>,
    tenant: TenantId,
    State(probe): State<Probe>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    insert_order::<Postgres>(&mut *tx, &tenant, &order).await?;
    if probe.runs() == 1 {
        Postgres::execute(&mut *tx, "SELECT pg_sleep(2)", &[]).await?;
    }
    Ok(StatusCode::CREATED)
}

// Cases: T-28
#[tokio::test]
async fn a_handler_that_is_stuck_in_a_statement_is_ended_with_it() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new().route("/orders", post(sleeps_in_the_database));
        let limit = |builder: Builder<Postgres>| builder.run_limit(Duration::from_secs(1));
        let server = bench.server().connections(1).engine(limit).routes(routes).start().await;

        assert_problem(&server.send(&r1()).await, "idempotency_transient");

        bench.assert_holds(0, 0).await;
        // The rollback was awaited, so nothing is in the way of the next run.
        assert_ran(&server.send(&r1()).await, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: T-22
// Reports: U05
#[tokio::test]
async fn a_read_only_server_is_unavailable() {
    run(async |bench: &Bench<Postgres>| {
        let writable = bench.start().await;
        let after_failover =
            bench.server().session("default_transaction_read_only", "on").unmigrated().start().await;

        let answer = after_failover.send(&r1()).await;

        assert_problem(&answer, "idempotency_store_unavailable");
        assert_eq!(after_failover.runs(), 0);
        // Closed, so that the next request finds the server that has taken over.
        assert_eq!(after_failover.app.writer.size(), 0);
        assert_ran(&writable.send(&r1()).await, 201);
        // A replay needs a transaction that could write.
        assert_problem(&after_failover.send(&r1()).await, "idempotency_store_unavailable");
    })
    .await;
}

/// Runs a statement that changes the session, named by the path, after the order is inserted.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn changes_the_session(
    tx: &mut PgTransaction<'_>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Path(change): Path<String>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    insert_order::<Postgres>(&mut *tx, &tenant, &order).await?;
    let sql = match change.as_str() {
        "role" => "SET LOCAL ROLE idem_tests_application",
        "poor-role" => "SET LOCAL ROLE pg_monitor",
        "search-path" => "SET LOCAL search_path TO pg_catalog",
        _ => "SET TRANSACTION READ ONLY",
    };
    Postgres::execute(&mut *tx, sql, &[]).await?;
    Ok(StatusCode::CREATED)
}

// Cases: T-29
#[tokio::test]
async fn a_handler_may_change_its_session_within_the_grants() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new().route("/{change}", post(changes_the_session));
        let server = bench.server().routes(routes).start().await;
        assert_eq!(bench.place.role_with_the_tables().await, "idem_tests_application");

        for change in ["/role", "/search-path"] {
            let request = r1().path(change).fresh_key();
            let first = server.send(&request).await;
            assert_ran(&first, 201);
            assert_replays(&first, &server.send(&request).await);
        }
        for change in ["/poor-role", "/read-only"] {
            let answer = server.send(&r1().path(change).fresh_key()).await;
            assert_problem(&answer, "idempotency_commit_rejected");
        }

        bench.assert_holds(2, 2).await;
        // What was set ended with its transaction.
        assert_ran(&server.send(&r1().path("/search-path").tenant("t2")).await, 201);
    })
    .await;
}
