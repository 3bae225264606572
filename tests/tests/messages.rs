//! What a request costs the database: counted, not timed.
//!
//! These are few, and run one after the other: the server counts its WAL for all of them together.

use axum::Json;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::r1;
use idem_tests::proxy::{At, PgProxy, Round, RoundKind};
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use sqlx::{PgConnection, Postgres};
use tokio::sync::Mutex;

/// Held by each test of this file.
static ALONE: Mutex<()> = Mutex::const_new(());

type Created = Result<(StatusCode, Json<Order>), AppError>;

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn annotated(tx: &mut PgConnection, tenant: TenantId, Json(order): Json<NewOrder>) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<Postgres>(&mut *tx, &tenant, &order).await?)))
}

/// The same handler without the attribute.
#[expect(
    clippy::disallowed_methods,
    reason = "every error of a statement has left the handler before COMMIT"
)]
async fn bare(tenant: TenantId, State(app): State<App<Postgres>>, Json(order): Json<NewOrder>) -> Created {
    let mut tx = app.writer.begin().await?;
    let order = insert_order::<Postgres>(&mut tx, &tenant, &order).await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(order)))
}

/// A server with one connection, through a proxy, on which every statement is prepared already.
async fn warm(bench: &Bench<Postgres>) -> (Server<Postgres>, Arc<PgProxy>) {
    let proxy = bench.proxy().await;
    let routes = Router::new().route("/annotated", post(annotated)).route("/bare", post(bare));
    let server = bench.server().connections(1).through(&proxy).routes(routes).start().await;
    for path in ["/annotated", "/bare"] {
        let request = r1().path(path).fresh_key();
        assert_ran(&server.send(&request).await, 201);
        assert_eq!(server.send(&request).await.status, 201);
    }
    (server, proxy)
}

/// What one request sends, first to last, with the checks of the pool before and after it.
async fn rounds_of(server: &Server<Postgres>, proxy: &PgProxy, path: &str) -> Vec<Round> {
    // Having the only connection means that what came before is over.
    drop(server.app.writer.acquire().await.expect("the connection is free"));
    drop(server.app.writer.acquire().await.expect("the connection is free"));
    proxy.forget();
    assert_ran(&server.send(&r1().path(path).fresh_key()).await, 201);
    drop(server.app.writer.acquire().await.expect("the connection is free"));
    proxy.rounds()
}

// Cases: R-01
#[tokio::test]
async fn a_first_run_sends_two_messages_more_than_the_bare_handler() {
    let _alone = ALONE.lock().await;
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = warm(bench).await;

        let bare = rounds_of(&server, &proxy, "/bare").await;
        let annotated = rounds_of(&server, &proxy, "/annotated").await;

        let statements = |rounds: &[Round]| {
            rounds
                .iter()
                .filter(|round| round.kind != RoundKind::Ping)
                .map(|round| round.sql.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(statements(&bare).len(), 3, "BEGIN, INSERT, COMMIT: {bare:#?}");
        assert_eq!(statements(&annotated).len(), 5, "RESERVE and RECORD beside them: {annotated:#?}");
        assert_eq!(annotated.len(), bare.len() + 2, "and no more pings: {annotated:#?}");
    })
    .await;
}

// Cases: R-01
#[tokio::test]
async fn a_first_run_takes_one_transaction_id() {
    let _alone = ALONE.lock().await;
    run(async |bench: &Bench<Postgres>| {
        let server = bench.server().routes(Router::new().route("/orders", post(annotated))).start().await;

        assert_ran(&server.send(&r1()).await, 201);

        // A savepoint would have given the order an id of its own.
        let table = bench.place.key_table();
        let key_row = bench.place.integer(&format!("SELECT xmin::text::bigint FROM {table}")).await;
        let order = bench.place.integer("SELECT xmin::text::bigint FROM orders").await;
        assert_eq!(order, key_row);
    })
    .await;
}

// Cases: R-01
#[tokio::test]
async fn a_replay_takes_no_transaction_id() {
    let _alone = ALONE.lock().await;
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = warm(bench).await;
        let request = r1().path("/annotated");
        let ids = async || {
            let sessions = bench.place.sessions();
            let sql = format!("SELECT count(backend_xid) FROM pg_stat_activity WHERE {sessions}");
            bench.place.integer(&sql).await
        };

        let mut commit = proxy.hold(At::Request, |round| round.runs("COMMIT"));
        let first = server.open(&request).await;
        commit.reached().await;
        assert_eq!(ids().await, 1, "a first run has taken its id, so one would be seen");
        commit.release();
        let first = first.answer().await;

        let mut end = proxy.hold(At::Request, |round| round.runs("ROLLBACK") || round.runs("COMMIT"));
        let again = server.open(&request).await;
        end.reached().await;
        assert_eq!(ids().await, 0);
        end.release();
        assert_replays(&first, &again.answer().await);
    })
    .await;
}

/// How many bytes of WAL the whole server has written.
async fn wal_bytes(bench: &Bench<Postgres>) -> i64 {
    bench.place.integer("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").await
}

// Cases: R-01
#[tokio::test]
async fn a_replay_writes_no_wal_on_its_second_time() {
    let _alone = ALONE.lock().await;
    run(async |bench: &Bench<Postgres>| {
        let (server, _proxy) = warm(bench).await;
        let request = r1().path("/annotated");
        let first = server.send(&request).await;
        // The first look at a row may set hint bits, which some servers log.
        assert_replays(&first, &server.send(&request).await);

        // The server writes now and then for reasons of its own; a replay that wrote would write each time.
        for _ in 0..20 {
            let before = wal_bytes(bench).await;
            assert_replays(&first, &server.send(&request).await);
            if wal_bytes(bench).await == before {
                return;
            }
        }
        panic!("each of twenty replays wrote WAL");
    })
    .await;
}
