//! The server does not reply in time, or still works on a statement that the handler gave up.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use idem_examples::reference::{App, Gate, NewOrder, Probe, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::hand::Hand;
use idem_tests::http::{Answer, Request, r1};
use idem_tests::patience::{eventually, soon, within};
use idem_tests::problem::assert_problem;
use idem_tests::proxy::{At, PgProxy, Round};
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use sqlx::{PgConnection, PgTransaction, Postgres};
use tokio::time::Instant;

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

/// Sends a statement that will fail and does not wait for the error; says "no seat left", as the path tells.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn gives_a_statement_up(
    tx: &mut PgTransaction<'_>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Path(kind): Path<String>,
) -> Result<Response, Response> {
    probe.ran();
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    let inserted = insert_order::<Postgres>(&mut *tx, &tenant, &order).await;
    inserted.map_err(IntoResponse::into_response)?;
    let mut slow = pin!(sqlx::raw_sql("SELECT 1 / (length(pg_sleep(0.1)::text) * 0)").execute(&mut **tx));
    let is_given_up = poll_fn(|context| Poll::Ready(slow.as_mut().poll(context).is_pending())).await;
    assert!(is_given_up, "it takes a tenth of a second");
    let answer = (StatusCode::CONFLICT, format!("no seat left in run {}", probe.runs())).into_response();
    if kind == "err" { Err(answer) } else { Ok(answer) }
}

// The error came in place of the reply to ROLLBACK. An `Err` then left unstored, and the retry came to another
// answer.
#[tokio::test]
async fn an_answer_after_a_statement_that_was_given_up_is_stored() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new().route("/{kind}", post(gives_a_statement_up));
        let server = bench.server().connections(1).routes(routes).start().await;

        for path in ["/err", "/ok"] {
            let request = r1().path(path).fresh_key();
            let first = server.send(&request).await;

            assert_ran(&first, 409);
            assert_replays(&first, &server.send(&request).await);
        }
        assert_eq!(server.runs(), 2);
        bench.assert_holds(2, 0).await;
    })
    .await;
}

/// Sleeps in the server in its first run, far longer than any limit.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn sleeps_in_the_server(
    tx: &mut PgConnection,
    tenant: TenantId,
    State(probe): State<Probe>,
) -> Result<StatusCode, StatusCode> {
    probe.ran();
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    let inserted = insert_order::<Postgres>(&mut *tx, &tenant, &order).await;
    inserted.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    if probe.runs() == 1 {
        let _ = sqlx::query("SELECT pg_sleep(600)").execute(&mut *tx).await;
    }
    Ok(StatusCode::CREATED)
}

// The statement went on after the run limit, and with it the key's lock, for as long as it took.
// Cases: T-28
#[tokio::test]
async fn a_statement_that_outlives_its_run_does_not_keep_the_key() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new().route("/orders", post(sleeps_in_the_server));
        let limit = Duration::from_secs(1);
        let server =
            bench.server().routes(routes).engine(move |builder| builder.run_limit(limit)).start().await;

        assert_problem(&server.send(&r1()).await, "idempotency_transient");
        let again = retry(&server, &r1()).await;

        assert_ran(&again, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

/// Where a request's connection stalls, and what comes of it.
struct Stall {
    path: &'static str,
    at: At,
    round: fn(&Round) -> bool,
    /// The problem's code.
    answer: &'static str,
    /// Whether the retry finds the answer, or runs.
    is_done: bool,
}

/// The longest that the engine waits at one place after the handler has run: 10 s for its statement, then 5 s
/// for ROLLBACK, then the closing of the connection.
const STALL_LIMIT: Duration = Duration::from_secs(18);

fn on_the_key_row(round: &Round) -> bool {
    round.runs("idempotency_keys")
}

/// Stalls one request's connection for good, like a network that swallows everything.
async fn stalls(stall: Stall) {
    run(async |bench: &Bench<Postgres>| {
        let proxy: Arc<PgProxy> = bench.proxy().await;
        let limit = Duration::from_secs(1);
        let server = bench
            .server()
            .connections(2)
            .through(&proxy)
            .engine(move |builder| builder.run_limit(limit).acquire_timeout(limit))
            .start()
            .await;
        server.gate().open();
        let request = r1().path(stall.path);

        let mut hold = proxy.hold(stall.at, stall.round);
        let begun = Instant::now();
        let first = server.open(&request).await;
        hold.reached().await;
        let first = within(STALL_LIMIT, first.answer()).await;

        let what = (stall.path, stall.at, stall.answer, begun.elapsed());
        assert_problem(&first, stall.answer);
        // Nobody lets the connection go on. The server ends what it holds, and the key is free.
        let again = retry(&server, &request).await;
        assert_eq!(again.is_replay(), stall.is_done, "{what:?}: {again:?}");
        assert_eq!(bench.key_rows().await.len(), 1, "{what:?}");
        assert_eq!(bench.count("orders").await, i64::from(again.status == 201), "{what:?}");
        hold.cut();
    })
    .await;
}

// A run waited for its reply for as long as TCP did, and its duplicates were told that it was in progress.
// All at once, because each takes as long as its limit.
// Reports: B03, B56
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_reply_is_given_up() {
    let reserve = |round: &Round| on_the_key_row(round) && round.sql.contains("INSERT");
    let complete = |round: &Round| on_the_key_row(round) && round.sql.contains("UPDATE");
    let commit = |round: &Round| round.runs("COMMIT");
    let rollback = |round: &Round| round.runs("ROLLBACK");
    // A failed answer is stored by a statement that names its status.
    let store = |round: &Round| on_the_key_row(round) && round.sql.contains("AS stored");
    let stall = |path, at, round, answer, is_done| stalls(Stall { path, at, round, answer, is_done });

    tokio::join!(
        stall("/orders", At::Request, |round| round.runs("BEGIN"), "idempotency_store_unavailable", false),
        stall("/orders", At::Request, reserve, "idempotency_store_unavailable", false),
        stall("/orders", At::Reply, reserve, "idempotency_store_unavailable", false),
        stall("/orders", At::Request, complete, "idempotency_transient", false),
        stall("/orders", At::Reply, complete, "idempotency_transient", false),
        stall("/orders", At::Request, commit, "idempotency_outcome_unknown", false),
        stall("/orders", At::Reply, commit, "idempotency_outcome_unknown", true),
        stall("/err", At::Request, rollback, "idempotency_transient", false),
        stall("/err", At::Request, store, "idempotency_outcome_unknown", false),
        stall("/err", At::Reply, store, "idempotency_outcome_unknown", true),
    );
}

// The owner waited for as long as the lock, every duplicate for the acquire time-out, and every new key took one
// more connection, until the pool had none.
// Reports: B03
#[tokio::test]
async fn a_locked_key_table_does_not_drain_the_pool() {
    run(async |bench: &Bench<Postgres>| {
        let limit = Duration::from_millis(300);
        let server =
            bench.server().connections(2).engine(move |builder| builder.acquire_timeout(limit)).start().await;
        let first = server.send(&r1()).await;
        let table = bench.place.key_table();
        let lock = sqlx::AssertSqlSafe(format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"));
        let mut migration = bench.place.pool().begin().await.expect("the server is there");
        sqlx::query(lock).execute(&mut *migration).await.expect("the table is free");

        // More keys than connections, then the key that is completed, and a duplicate of a request that waits.
        for _ in 0..3 {
            assert_problem(&server.send(&r1().fresh_key()).await, "idempotency_store_unavailable");
        }
        assert_problem(&server.send(&r1()).await, "idempotency_store_unavailable");
        let request = r1().fresh_key();
        let (owner, duplicate) = (server.open(&request).await, server.open(&request).await);
        assert_problem(&owner.answer().await, "idempotency_store_unavailable");
        assert_problem(&duplicate.answer().await, "idempotency_store_unavailable");
        assert_eq!(server.runs(), 1);
        migration.rollback().await.expect("the lock is let go");

        assert_replays(&first, &server.send(&r1()).await);
        assert_ran(&retry(&server, &request).await, 201);
        bench.assert_holds(2, 2).await;
        // What waited in the server for the lock finds its client gone.
        eventually(async || bench.place.sessions_in_transaction().await == 0).await;
    })
    .await;
}

#[tokio::test]
async fn a_row_that_somebody_else_holds_is_not_waited_for_longer_than_for_a_connection() {
    run(async |bench: &Bench<Postgres>| {
        let limit = Duration::from_millis(300);
        let server = bench.server().engine(move |builder| builder.acquire_timeout(limit)).start().await;
        let first = server.send(&r1()).await;
        let delete = sqlx::AssertSqlSafe(format!("DELETE FROM {}", bench.place.key_table()));
        let mut somebody = bench.place.pool().begin().await.expect("the server is there");
        sqlx::query(delete).execute(&mut *somebody).await.expect("the row is free");

        assert_problem(&server.send(&r1()).await, "idempotency_store_unavailable");
        somebody.rollback().await.expect("the row stays");

        assert_replays(&first, &retry(&server, &r1()).await);
        assert_eq!(server.runs(), 1);
    })
    .await;
}

/// A handler that creates, and whose duplicates wait for so long.
#[expect(clippy::result_large_err, reason = "a `Hand` asks for it")]
fn waiting(limit: Duration) -> Hand<Postgres> {
    Hand::new(|_, _| Ok(StatusCode::CREATED.into_response()))
        .described(move |operation, _| operation.wait(limit))
}

// Cases: C-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_ends_in_time_although_the_server_does_not_reply() {
    const LIMIT: Duration = Duration::from_secs(1);
    run(async |bench: &Bench<Postgres>| {
        let gate = Gate::default();
        let first_server = bench.server().routes(waiting(LIMIT).at_gate(&gate).routes()).start().await;
        let (hand, proxy) = (waiting(LIMIT), bench.proxy().await);
        let server = bench.server().through(&proxy).routes(hand.routes()).start().await;

        let first = first_server.open(&r1()).await;
        soon(gate.arrivals(1)).await;
        // The first attempt finds the key taken; the second is one of the wait.
        let attempts = AtomicUsize::new(0);
        let mut second = proxy.hold(At::Reply, move |round| {
            round.runs("INSERT INTO") && attempts.fetch_add(1, Ordering::SeqCst) == 1
        });
        let begun = Instant::now();
        let duplicate = server.open(&r1()).await;
        second.reached().await;
        let duplicate = duplicate.answer().await;

        assert_problem(&duplicate, "idempotency_in_progress");
        let waited = begun.elapsed();
        assert!(waited >= LIMIT, "{waited:?}");
        assert!(waited < Duration::from_secs(4), "not as long as for a connection: {waited:?}");
        gate.open();
        assert_ran(&first.answer().await, 201);
        assert_eq!(hand.runs(), 0);
        bench.assert_holds(1, 1).await;
        second.release();
    })
    .await;
}
