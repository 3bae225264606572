//! The application's own `statement_timeout` and `lock_timeout` run out at each step of a request.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use idem_examples::reference::{App, AppError, NewOrder, Probe, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::{Answer, r1};
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use sqlx::{AssertSqlSafe, PgConnection, Postgres};

/// How long the session lets a statement run, or wait for a lock, in milliseconds.
const LIMIT: &str = "300";

const STATEMENT: &str = "statement_timeout";
const LOCK: &str = "lock_timeout";

/// Inserts an order, then reads a row that somebody may hold.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn waits_for_a_row(
    tx: &mut PgConnection,
    tenant: TenantId,
    State(probe): State<Probe>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    insert_order::<Postgres>(&mut *tx, &tenant, &order).await?;
    sqlx::query("SELECT FROM stock FOR UPDATE").execute(&mut *tx).await?;
    Ok(StatusCode::CREATED)
}

/// What waits for the row that somebody holds.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The reserving statement.
    Reserve,
    /// The handler's own.
    Handler,
    /// The statement that writes the answer into the key row.
    Record,
    /// A deferred trigger, which runs with COMMIT.
    Commit,
    /// The statement that stores a failed answer after the rollback.
    Store,
}

impl Step {
    /// When the trigger fires that waits for the row.
    fn trigger(self) -> Option<&'static str> {
        match self {
            Self::Reserve => Some("CREATE TRIGGER wait BEFORE INSERT ON keys FOR EACH ROW"),
            Self::Handler => None,
            Self::Record => Some("CREATE TRIGGER wait BEFORE UPDATE ON keys FOR EACH ROW"),
            Self::Commit => Some(
                "CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW",
            ),
            Self::Store => Some(
                "CREATE TRIGGER wait BEFORE INSERT ON keys FOR EACH ROW WHEN (NEW.response_status IS NOT NULL)",
            ),
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Handler => "/waits",
            Self::Store => "/err",
            Self::Reserve | Self::Record | Self::Commit => "/orders",
        }
    }

    /// What the client is told when the wait has been too long.
    fn assert_told(self, answer: &Answer) {
        match self {
            Self::Reserve => assert_problem(answer, "idempotency_store_unavailable"),
            Self::Handler => {
                assert_ran(answer, 500);
                assert_eq!(answer.text(), r#"{"error":"database"}"#);
            }
            Self::Record | Self::Commit => assert_problem(answer, "idempotency_commit_rejected"),
            Self::Store => assert_problem(answer, "idempotency_transient"),
        }
    }
}

/// The session's value of a setting, as the pool's only connection has it now.
async fn setting(server: &Server<Postgres>, name: &str) -> String {
    let sql = format!("SELECT current_setting('{name}')");
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&server.app.writer).await.expect("the connection works")
}

/// Has each of these time-outs run out at this step, then lets the row go and sends the request again.
async fn run_out_at(step: Step, time_outs: &[&str]) {
    run(async |bench: &Bench<Postgres>| {
        for &time_out in time_outs {
            let routes = idem_examples::reference::routes::<Postgres, App<Postgres>>()
                .merge(Router::new().route("/waits", post(waits_for_a_row)));
            let server = bench.server().connections(1).session(time_out, LIMIT).routes(routes).start().await;
            let request = r1().path(step.path()).fresh_key();
            let orders = bench.count("orders").await;
            let keys = bench.key_rows().await.len();
            bench.place.execute("CREATE TABLE stock AS SELECT 1 AS n").await;
            if let Some(trigger) = step.trigger() {
                let wait = "BEGIN PERFORM FROM stock FOR UPDATE; RETURN NEW; END";
                let function = "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS";
                bench.place.execute(&format!("{function} $$ {wait} $$")).await;
                let trigger = trigger.replace(" keys ", &format!(" {} ", bench.place.key_table()));
                bench.place.execute(&format!("{trigger} EXECUTE FUNCTION wait()")).await;
            }
            let mut somebody = bench.place.pool().begin().await.expect("the server is there");
            sqlx::query("SELECT FROM stock FOR UPDATE")
                .execute(&mut *somebody)
                .await
                .expect("the row is free");

            let refused = server.send(&request).await;
            step.assert_told(&refused);
            bench.assert_holds(keys, orders).await;
            assert_eq!(setting(&server, time_out).await, "300ms", "the session has its own value again");
            somebody.rollback().await.expect("the row is let go");

            let first = server.send(&request).await;
            assert_eq!(first.status, if step.path() == "/err" { 422 } else { 201 }, "{first:?}");
            assert_replays(&first, &server.send(&request).await);
            bench.place.execute("DROP TABLE stock").await;
            bench.place.execute("DROP FUNCTION IF EXISTS wait CASCADE").await;
        }
    })
    .await;
}

// Cases: T-22
#[tokio::test]
async fn a_time_out_at_the_reservation_is_unavailable() {
    run_out_at(Step::Reserve, &[STATEMENT, LOCK]).await;
}

// Cases: T-13
#[tokio::test]
async fn a_time_out_in_the_handler_is_its_own_error_and_not_kept() {
    run_out_at(Step::Handler, &[STATEMENT, LOCK]).await;
}

#[tokio::test]
async fn a_time_out_at_the_recording_rolls_the_work_back() {
    run_out_at(Step::Record, &[STATEMENT, LOCK]).await;
}

// PostgreSQL switches `statement_timeout` off before it commits, so it does not end a deferred trigger that waits. The
// engine's own limit does (`late.rs`).
// Cases: T-10
#[tokio::test]
async fn a_lock_time_out_at_commit_rolls_the_work_back() {
    run_out_at(Step::Commit, &[LOCK]).await;
}

// Cases: T-24
#[tokio::test]
async fn a_failed_answer_whose_storing_times_out_does_not_leave() {
    run_out_at(Step::Store, &[STATEMENT, LOCK]).await;
}

// Cases: T-22
#[tokio::test]
async fn a_time_out_shorter_than_the_acquire_time_out_ends_the_wait_for_a_locked_table() {
    run(async |bench: &Bench<Postgres>| {
        for time_out in [STATEMENT, LOCK] {
            let launch = bench.server().connections(1).session(time_out, LIMIT);
            let server =
                launch.engine(|builder| builder.acquire_timeout(Duration::from_secs(20))).start().await;
            let first = server.send(&r1()).await;
            let lock = AssertSqlSafe(format!("LOCK TABLE {}", bench.place.key_table()));
            let mut migration = bench.place.pool().begin().await.expect("the server is there");
            sqlx::query(lock).execute(&mut *migration).await.expect("the table is free");

            for request in [r1(), r1().fresh_key()] {
                assert_problem(&server.send(&request).await, "idempotency_store_unavailable");
            }
            migration.rollback().await.expect("the lock is let go");

            assert_replays(&server.send(&r1()).await, &server.send(&r1()).await);
            assert_eq!(first.status, 201);
        }
        bench.assert_holds(1, 1).await;
    })
    .await;
}
