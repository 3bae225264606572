//! The connection to PostgreSQL is lost, or a statement is late, at a chosen moment.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use idem_examples::reference::{App, AppError, Database as _, NewOrder, Probe, TenantId, insert_order};
use idem_runtime::{Builder, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::{Answer, Request, r1};
use idem_tests::patience::{eventually, soon};
use idem_tests::problem::assert_problem;
use idem_tests::proxy::{At, PgProxy, Round};
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use sqlx::{PgTransaction, Postgres};

/// A server whose connections lead through a proxy.
async fn behind_a_proxy(bench: &Bench<Postgres>) -> (Server<Postgres>, Arc<PgProxy>) {
    let proxy = bench.proxy().await;
    let server = bench.server().through(&proxy).start().await;
    (server, proxy)
}

/// Whether a round runs a statement on the key table.
fn on_the_key_row(round: &Round) -> bool {
    round.runs("idempotency_keys")
}

/// Sends a request until it is not in progress: the server may still be rolling an abandoned transaction
/// back.
async fn retry(server: &Server<Postgres>, request: &Request) -> Answer {
    soon(async {
        loop {
            let answer = server.send(request).await;
            if answer.status != 409 {
                return answer;
            }
            assert_problem(&answer, "idempotency_in_progress");
        }
    })
    .await
}

// Cases: T-06
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
        let again = retry(&server, &slow).await;
        assert_ran(&again, 201);
        assert_eq!(server.runs(), 2);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: T-07
#[tokio::test]
async fn a_commit_whose_reply_is_lost_is_unknown_and_then_replayed() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = behind_a_proxy(bench).await;

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
#[tokio::test]
async fn a_commit_that_never_arrives_is_unknown_and_then_run() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = behind_a_proxy(bench).await;

        let mut commit = proxy.hold(At::Request, |round| round.runs("COMMIT"));
        let first = server.open(&r1()).await;
        commit.reached().await;
        commit.cut();

        assert_problem(&first.answer().await, "idempotency_outcome_unknown");
        let again = retry(&server, &r1()).await;
        assert_ran(&again, 201);
        assert_eq!(server.runs(), 2);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: T-07
#[tokio::test]
async fn no_answer_leaves_before_the_commit_is_acknowledged() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = behind_a_proxy(bench).await;

        let mut commit = proxy.hold(At::Reply, |round| round.runs("COMMIT"));
        let mut first = Box::pin(server.open(&r1()).await.answer());
        commit.reached().await;
        // Committed, as anyone can see, and the application does not know it yet.
        bench.assert_holds(1, 1).await;
        let early = tokio::time::timeout(Duration::from_millis(200), &mut first).await;
        commit.release();

        assert!(early.is_err(), "{early:?}");
        assert_ran(&first.await, 201);
    })
    .await;
}

// Cases: T-14
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

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn waits_and_refuses(
    tx: &mut PgTransaction<'_>,
    tenant: TenantId,
    State(probe): State<Probe>,
) -> Result<StatusCode, StatusCode> {
    probe.ran();
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    insert_order::<Postgres>(&mut *tx, &tenant, &order)
        .await
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    probe.gate.pass().await;
    Err(StatusCode::CONFLICT)
}

// Cases: T-06
#[tokio::test]
async fn a_refusal_that_a_lost_connection_keeps_from_being_stored_does_not_leave() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new().route("/orders", post(waits_and_refuses));
        let server = bench.server().routes(routes).start().await;

        let first = server.open_up_to_the_gate(&r1()).await;
        assert_eq!(bench.place.terminate_transactions().await, 1);
        server.gate().open();

        // Sent, it would be the first of two final answers.
        assert_problem(&first.answer().await, "idempotency_transient");
        bench.assert_holds(0, 0).await;
        eventually(async || bench.place.sessions_in_transaction().await == 0).await;
        let again = server.send(&r1()).await;
        assert_ran(&again, 409);
        assert_replays(&again, &server.send(&r1()).await);
        assert_eq!(server.runs(), 2);
    })
    .await;
}

/// Cuts `/err` at the statement that stores its answer, at its request or its reply.
async fn cut_the_storing(bench: &Bench<Postgres>, at: At) -> (Server<Postgres>, Answer) {
    let (server, proxy) = behind_a_proxy(bench).await;
    let mut rollback = proxy.hold(At::Reply, |round| round.runs("ROLLBACK"));
    let first = server.open(&r1().path("/err")).await;
    rollback.reached().await;
    let mut storing = proxy.hold(at, on_the_key_row);
    rollback.release();
    storing.reached().await;
    storing.cut();
    (server, first.answer().await)
}

// Cases: T-24
#[tokio::test]
async fn a_failed_answer_that_could_not_be_stored_does_not_leave() {
    run(async |bench: &Bench<Postgres>| {
        let (server, first) = cut_the_storing(bench, At::Request).await;

        assert_problem(&first, "idempotency_outcome_unknown");
        bench.assert_holds(0, 0).await;
        let again = retry(&server, &r1().path("/err")).await;
        assert_ran(&again, 422);
        assert_eq!(server.runs(), 2);
        bench.assert_holds(1, 0).await;
    })
    .await;
}

// Cases: T-24
#[tokio::test]
async fn a_failed_answer_stored_without_a_reply_is_replayed() {
    run(async |bench: &Bench<Postgres>| {
        let (server, first) = cut_the_storing(bench, At::Reply).await;

        assert_problem(&first, "idempotency_outcome_unknown");
        let again = server.send(&r1().path("/err")).await;
        assert_eq!(again.status, 422);
        assert!(again.is_replay());
        assert_eq!(server.runs(), 1);
        bench.assert_holds(1, 0).await;
    })
    .await;
}

// Cases: T-24
#[tokio::test]
async fn a_failed_answer_whose_rollback_is_lost_does_not_leave() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = behind_a_proxy(bench).await;
        let boom = r1().path("/boom");

        let mut rollback = proxy.hold(At::Reply, |round| round.runs("ROLLBACK"));
        let first = server.open(&boom).await;
        rollback.reached().await;
        rollback.cut();

        assert_problem(&first.answer().await, "idempotency_transient");
        bench.assert_holds(0, 0).await;
        let again = retry(&server, &boom).await;
        assert_ran(&again, 500);
        assert_replays(&again, &server.send(&boom).await);
        assert_eq!(server.runs(), 2);
    })
    .await;
}

// Cases: R-10, F-01
#[tokio::test]
async fn a_run_that_comes_in_between_counts_for_a_failed_one() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = behind_a_proxy(bench).await;
        let other = bench.start().await;

        for (body, expected) in [(r#"{"item":"tea","qty":1}"#, 422), (r#"{"item":"tea","qty":2}"#, 422)] {
            let request = r1().path("/err").fresh_key();
            let mut rollback = proxy.hold(At::Reply, |round| round.runs("ROLLBACK"));
            let first = server.open(&request).await;
            rollback.reached().await;
            // Rolled back and not yet stored: another process gets hold of the key.
            let winner = other.send(&request.clone().body(body)).await;
            rollback.release();
            let first = first.answer().await;

            assert_ran(&winner, expected);
            if body.contains(r#""qty":1"#) {
                assert_replays(&winner, &first);
            } else {
                assert_problem(&first, "idempotency_key_reused");
            }
        }
        bench.assert_holds(2, 0).await;
    })
    .await;
}

// Cases: C-08
#[tokio::test]
async fn a_run_still_going_on_in_between_is_in_progress_for_a_failed_one() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = behind_a_proxy(bench).await;
        let other_routes = Router::<App<Postgres>>::new().route("/orders", post(waits_and_refuses));
        let other = bench.server().routes(other_routes.clone()).start().await;
        drop(server);
        let server = bench.server().through(&proxy).routes(other_routes).start().await;
        server.gate().open();

        let mut rollback = proxy.hold(At::Reply, |round| round.runs("ROLLBACK"));
        let first = server.open(&r1()).await;
        rollback.reached().await;
        let elsewhere = other.open_up_to_the_gate(&r1()).await;
        rollback.release();
        let first = first.answer().await;
        other.gate().open();

        assert_problem(&first, "idempotency_in_progress");
        let elsewhere = elsewhere.answer().await;
        assert_ran(&elsewhere, 409);
        assert_replays(&elsewhere, &server.send(&r1()).await);
    })
    .await;
}

// Cases: C-14
#[tokio::test]
async fn a_wrong_body_on_its_way_does_not_refuse_the_right_one() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = behind_a_proxy(bench).await;
        let first = server.send(&r1()).await;

        let mut look_up = proxy.hold(At::Request, on_the_key_row);
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
        let (server, proxy) = behind_a_proxy(bench).await;
        assert_ran(&server.send(&r1()).await, 201);

        let mut look_up =
            proxy.hold(At::Request, |round| on_the_key_row(round) && round.sql.starts_with("SELECT"));
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

// Cases: T-22
#[tokio::test]
async fn a_database_that_does_not_reply_is_unavailable_to_all_who_wait() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let limit = |builder: Builder<Postgres>| builder.acquire_timeout(Duration::from_millis(500));
        let server = bench.server().through(&proxy).engine(limit).start().await;

        let mut reserve = proxy.hold(At::Reply, on_the_key_row);
        let first = server.open(&r1()).await;
        reserve.reached().await;
        let duplicate = server.open(&r1()).await;
        let answers = [first.answer().await, duplicate.answer().await];
        reserve.cut();

        for answer in answers {
            assert_problem(&answer, "idempotency_store_unavailable");
        }
        assert_eq!(server.runs(), 0);
        assert_ran(&retry(&server, &r1()).await, 201);
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
#[tokio::test]
async fn a_read_only_server_is_unavailable() {
    run(async |bench: &Bench<Postgres>| {
        let writable = bench.start().await;
        let after_failover =
            bench.server().session("default_transaction_read_only", "on").unmigrated().start().await;

        let answer = after_failover.send(&r1()).await;

        assert_problem(&answer, "idempotency_store_unavailable");
        assert_eq!(after_failover.runs(), 0);
        assert_ran(&writable.send(&r1()).await, 201);
        assert!(
            after_failover.send(&r1()).await.status >= 500,
            "a replay needs a transaction that could write"
        );
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
