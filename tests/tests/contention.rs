//! The handler's own statements meet those of other requests: what it is told is its own error, never "in progress".

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use idem_examples::reference::{
    App, AppError, Database as _, NewOrder, Probe, TenantId, Value, insert_order,
};
use idem_runtime::{Isolation, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::{Answer, Request, open, r1};
use idem_tests::patience::within;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::{PgConnection, Postgres};
use tokio::task::JoinSet;

/// Waits for another session's row for as long as the session's `lock_timeout` says.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn counts_for_all(
    tx: &mut PgConnection,
    tenant: TenantId,
    State(probe): State<Probe>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    insert_order::<Postgres>(&mut *tx, &tenant, &order).await?;
    let sql = "UPDATE counters SET n = n + 1 WHERE tenant = $1";
    Postgres::execute(&mut *tx, sql, &[Value::Text(&tenant.0)]).await?;
    Ok(StatusCode::CREATED)
}

// Reports: B32
#[tokio::test]
async fn a_lock_that_is_not_to_be_had_is_the_handlers_error_and_frees_the_key() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new().route("/orders", post(counts_for_all));
        let proxy = bench.proxy().await;
        let server =
            bench.server().through(&proxy).session("lock_timeout", "100").routes(routes).start().await;
        bench.place.execute("INSERT INTO counters (tenant, id, n) VALUES ('t1', 1, 0)").await;

        let mut holder = bench.place.pool().begin().await.expect("the server is there");
        let held = sqlx::query("UPDATE counters SET n = n").execute(&mut *holder).await;
        held.expect("the row is free");
        let failed = server.send(&r1()).await;
        bench.assert_holds(0, 0).await;
        holder.rollback().await.expect("the lock is let go");
        let first = server.send(&r1()).await;

        assert_ran(&failed, 500);
        assert_eq!(failed.text(), r#"{"error":"database"}"#);
        assert_ran(&first, 201);
        assert_replays(&first, &server.send(&r1()).await);
        assert_eq!(server.runs(), 2);
        // The second is what the library's own question, whether a statement had failed, is answered with.
        assert_eq!(proxy.errors(), ["55P03", "25P02"]);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

/// Sends until the answer is a success, as clients do that retry 5xx, and returns what was answered.
async fn insist(address: SocketAddr, request: Request) -> Vec<Answer> {
    let mut answers = Vec::new();
    loop {
        let answer = open(address, &request).await.answer().await;
        let is_over = answer.status < 400;
        answers.push(answer);
        if is_over {
            return answers;
        }
    }
}

// Reports: B33
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serializable_requests_for_one_counter_all_succeed_when_they_are_retried() {
    run(async |bench: &Bench<Postgres>| {
        let server = bench
            .server()
            .connections(20)
            .engine(|builder| builder.isolation(Isolation::Serializable))
            .start()
            .await;
        let count = |key: usize| {
            Request::new("PUT", "/counters/1").field("X-Tenant", "t1").key(format!("\"k-{key}\""))
        };

        let mut clients = JoinSet::new();
        for key in 0..20 {
            clients.spawn(insist(server.address, count(key)));
        }
        let answers = within(Duration::from_mins(1), clients.join_all()).await;

        let mut counted = BTreeSet::new();
        for answer in answers.iter().flatten() {
            match answer.status {
                200 => {
                    assert_ran(answer, 200);
                    counted.insert(answer.json()["n"].as_i64().expect("a number"));
                }
                // The handler's own error at its UPDATE, or the library's at COMMIT; nobody was in progress.
                500 => assert_eq!(answer.text(), r#"{"error":"database"}"#),
                503 => assert_problem(answer, "idempotency_transient"),
                _ => panic!("{answer:?}"),
            }
        }
        assert_eq!(counted, (1..=20).collect());
        assert_eq!(bench.key_rows().await.len(), 20);
        assert_eq!(bench.place.integer("SELECT n FROM counters").await, 20);
        for key in 0..20 {
            assert!(server.send(&count(key)).await.is_replay());
        }
    })
    .await;
}
