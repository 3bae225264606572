//! What a request costs the database: counted, not timed.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::Json;
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::r1;
use idem_tests::proxy::{PgProxy, Round, RoundKind};
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use sqlx::{PgConnection, Postgres};

type Created = Result<(StatusCode, Json<Order>), AppError>;

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn annotated(tx: &mut PgConnection, tenant: TenantId, Json(order): Json<NewOrder>) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<Postgres>(&mut *tx, &tenant, &order).await?)))
}

/// The same handler without the attribute.
async fn bare(
    tenant: TenantId,
    State(app): State<App<Postgres>>,
    Json(order): Json<NewOrder>,
) -> Created {
    let mut tx = app.writer.begin().await?;
    let order = insert_order::<Postgres>(&mut tx, &tenant, &order).await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(order)))
}

/// A server with one connection, through a proxy, on which every statement is prepared already.
async fn warm(bench: &Bench<Postgres>) -> (Server<Postgres>, PgProxy) {
    let proxy = PgProxy::start(bench.place.address().await).await;
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
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = warm(bench).await;

        let bare = rounds_of(&server, &proxy, "/bare").await;
        let annotated = rounds_of(&server, &proxy, "/annotated").await;

        let statements = |rounds: &[Round]| {
            rounds.iter().filter(|round| round.kind != RoundKind::Ping).map(|round| round.sql.clone()).collect::<Vec<_>>()
        };
        assert_eq!(statements(&bare).len(), 3, "BEGIN, INSERT, COMMIT: {bare:#?}");
        assert_eq!(statements(&annotated).len(), 5, "RESERVE and RECORD beside them: {annotated:#?}");
        assert_eq!(annotated.len(), bare.len() + 2, "and no more pings: {annotated:#?}");
    })
    .await;
}

/// The next transaction id that the server would give; itself it takes none.
async fn next_transaction(bench: &Bench<Postgres>) -> i64 {
    bench.place.integer("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").await
}

/// How many bytes of WAL there are so far.
async fn wal_bytes(bench: &Bench<Postgres>) -> i64 {
    bench.place.integer("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").await
}

// Cases: R-01
#[tokio::test]
async fn a_first_run_takes_one_transaction_id() {
    run(async |bench: &Bench<Postgres>| {
        let (server, _proxy) = warm(bench).await;
        let xid = async || {
            let table = bench.place.key_table();
            bench.place.integer(&format!("SELECT max(xmin::text::bigint) FROM {table}")).await
        };

        assert_ran(&server.send(&r1().path("/annotated").fresh_key()).await, 201);
        let key_row = xid().await;
        let order = bench.place.integer("SELECT max(xmin::text::bigint) FROM orders").await;

        // One id for the order, the reservation and the answer: a savepoint would have taken another.
        assert_eq!(order, key_row);
    })
    .await;
}
