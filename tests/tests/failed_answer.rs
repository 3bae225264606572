//! A failed answer is stored after the rollback, and leaves only once it is: what happens in between.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use idem_examples::reference::{App, NewOrder, Probe, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::{Bench, run};
use idem_tests::http::{Answer, r1};
use idem_tests::patience::eventually;
use idem_tests::problem::assert_problem;
use idem_tests::proxy::At;
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use idem_tests::spans::Spans;
use sqlx::{PgTransaction, Postgres};

/// How a statement on the key table is told from others.
const KEY_TABLE: &str = "idempotency_keys";

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
    let (server, proxy) = bench.start_behind_a_proxy().await;
    let mut rollback = proxy.hold(At::Reply, |round| round.runs("ROLLBACK"));
    let first = server.open(&r1().path("/err")).await;
    rollback.reached().await;
    let mut storing = proxy.hold(at, |round| round.runs(KEY_TABLE));
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
        let again = server.retry(&r1().path("/err")).await;
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
        let (server, proxy) = bench.start_behind_a_proxy().await;
        let boom = r1().path("/boom");

        let mut rollback = proxy.hold(At::Reply, |round| round.runs("ROLLBACK"));
        let first = server.open(&boom).await;
        rollback.reached().await;
        rollback.cut();

        assert_problem(&first.answer().await, "idempotency_transient");
        bench.assert_holds(0, 0).await;
        let again = server.retry(&boom).await;
        assert_ran(&again, 500);
        assert_replays(&again, &server.send(&boom).await);
        assert_eq!(server.runs(), 2);
    })
    .await;
}

// Cases: C-01, T-24
#[tokio::test]
async fn the_key_is_in_progress_until_a_failed_answer_is_stored() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = bench.start_behind_a_proxy().await;
        let err = r1().path("/err");

        let mut rollback = proxy.hold(At::Reply, |round| round.runs("ROLLBACK"));
        let first = server.open(&err).await;
        rollback.reached().await;
        let while_rolling_back = server.send(&err).await;
        let mut storing = proxy.hold(At::Reply, |round| round.runs(KEY_TABLE));
        rollback.release();
        storing.reached().await;
        let while_storing = server.send(&err).await;
        storing.release();

        for duplicate in [while_rolling_back, while_storing] {
            assert_problem(&duplicate, "idempotency_in_progress");
        }
        let first = first.answer().await;
        assert_ran(&first, 422);
        assert_replays(&first, &server.send(&err).await);
        assert_eq!(server.runs(), 1);
        bench.assert_holds(1, 0).await;
    })
    .await;
}

// Cases: R-10, F-01
#[tokio::test]
async fn a_run_that_comes_in_between_counts_for_a_failed_one() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = bench.start_behind_a_proxy().await;
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

// The handler ran, but what it answered is not what the client was given.
#[tokio::test]
async fn a_failed_run_that_lost_its_key_is_seen_as_it_is_answered() {
    run(async |bench: &Bench<Postgres>| {
        let (spans, proxy) = (Spans::default(), bench.proxy().await);
        let subscribed = spans.clone();
        let launch = bench.server().through(&proxy).wrap(move |router| subscribed.subscribe(router));
        let (server, other) = (launch.start().await, bench.start().await);

        for (qty, outcome) in [(1, "replayed"), (2, "mismatch")] {
            let request = r1().path("/err").fresh_key();
            let mut rollback = proxy.hold(At::Reply, |round| round.runs("ROLLBACK"));
            let first = server.open(&request).await;
            rollback.reached().await;
            let winner = other.send(&request.body(format!(r#"{{"item":"tea","qty":{qty}}}"#))).await;
            rollback.release();

            assert_ran(&winner, 422);
            assert_eq!(first.answer().await.status, 422);
            assert_eq!(spans.take(1).await[0].field("idempotency.outcome"), outcome);
        }
    })
    .await;
}

// Cases: C-08
#[tokio::test]
async fn a_run_still_going_on_in_between_is_in_progress_for_a_failed_one() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = bench.start_behind_a_proxy().await;
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
