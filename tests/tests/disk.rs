//! SQLite's file cannot grow, or cannot be written at all.
//!
//! `max_page_count` makes the file full at a statement of the test's choosing: what a statement writes on top goes to
//! new pages at once. Only COMMIT writes to the disk, so for a full disk the system bounds the size of the process's
//! files.

use std::fs;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use idem_examples::reference::{App, AppError, NewOrder, Probe, TenantId, insert_order, routes};
use idem_runtime::idempotent;
use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::{Answer, Request, r1};
use idem_tests::patience::soon;
use idem_tests::problem::assert_problem;
use idem_tests::process::Process;
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};
use tokio::process::Command;
use tokio::sync::Mutex;

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

/// Much more than what is left in the pages that a small row goes to.
const LARGE: usize = 50_000;

/// Inserts an order of one tea, and answers with a text as large as the quantity says.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn answers_at_length(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, String), AppError> {
    probe.ran();
    let order = insert_order::<Sqlite>(&mut *tx, &tenant, &order).await?;
    Ok((StatusCode::CREATED, "x".repeat(usize::try_from(order.qty).unwrap_or_default())))
}

/// Inserts an order and refuses it with a text as large as the quantity says.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn refuses_at_length(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<StatusCode, (StatusCode, String)> {
    probe.ran();
    let small = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    let inserted = insert_order::<Sqlite>(&mut *tx, &tenant, &small).await;
    inserted.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Err((StatusCode::CONFLICT, "x".repeat(usize::try_from(order.qty).unwrap_or_default())))
}

/// Lets the file have as many pages as it has, or any number of them.
async fn limit_pages(server: &Server<Sqlite>, is_limited: bool) {
    let writer = &server.app.writer;
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(writer).await.expect("it reads");
    let pages = if is_limited { pages } else { i64::from(u32::MAX - 1) };
    let sql = AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
    sqlx::query(sql).execute(writer).await.expect("it can be set");
}

/// Has a request meet a full file, then sends it again when there is room, and gives both answers.
async fn meet_a_full_file(path: &'static str, request: Request) -> [Answer; 2] {
    let answers = Mutex::default();
    run(async |bench: &Bench<Sqlite>| {
        let routes = routes::<Sqlite, App<Sqlite>>()
            .route("/long", post(answers_at_length))
            .route("/refused", post(refuses_at_length));
        let server = bench.server().routes(routes).start().await;
        let earlier = server.send(&r1()).await;
        assert_ran(&earlier, 201);
        let request = request.path(path).key("\"k-0002\"");

        limit_pages(&server, true).await;
        let refused = server.send(&request).await;
        bench.assert_holds(1, 1).await;
        // What is there already takes no room.
        assert_replays(&earlier, &server.send(&r1()).await);
        limit_pages(&server, false).await;

        let first = server.send(&request).await;
        assert_replays(&first, &server.send(&request).await);
        bench.assert_holds(2, if first.status == 201 { 2 } else { 1 }).await;
        *answers.lock().await = Some([refused, first]);
    })
    .await;
    answers.into_inner().expect("the test has run")
}

// Cases: T-22
#[tokio::test]
async fn a_file_that_is_full_at_the_reservation_is_unavailable() {
    // The tenant is part of the scope, which stands in the key row.
    let [refused, first] = meet_a_full_file("/orders", r1().tenant(&"t".repeat(LARGE))).await;

    assert_problem(&refused, "idempotency_store_unavailable");
    assert_ran(&first, 201);
}

// Cases: T-13
#[tokio::test]
async fn a_file_that_is_full_in_the_handler_is_its_own_error_and_not_kept() {
    for (path, status) in [("/orders", 201), ("/err", 422)] {
        let request = r1().body(format!(r#"{{"item":"{}","qty":1}}"#, "x".repeat(LARGE)));
        let [refused, first] = meet_a_full_file(path, request).await;

        assert_ran(&refused, 500);
        assert_eq!(refused.text(), r#"{"error":"database"}"#);
        assert_ran(&first, status);
    }
}

#[tokio::test]
async fn a_file_that_is_full_at_the_recording_rolls_the_work_back() {
    let request = r1().body(format!(r#"{{"item":"tea","qty":{LARGE}}}"#));
    let [refused, first] = meet_a_full_file("/long", request).await;

    assert_problem(&refused, "idempotency_commit_rejected");
    assert_ran(&first, 201);
}

// Cases: T-24
#[tokio::test]
async fn a_failed_answer_that_a_full_file_cannot_take_does_not_leave() {
    let request = r1().body(format!(r#"{{"item":"tea","qty":{LARGE}}}"#));
    let [refused, first] = meet_a_full_file("/refused", request).await;

    assert_problem(&refused, "idempotency_transient");
    assert_ran(&first, 409);
}

/// Bounds the size of every file that the process writes, or lifts the bound: `None`.
async fn limit_files(process: &Process, bytes: Option<u64>) {
    // The soft limit, which may be raised again.
    let limit = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
    let mut prlimit = Command::new("prlimit");
    prlimit.args(["--pid", &process.id().to_string(), &format!("--fsize={limit}:")]);
    assert!(soon(prlimit.status()).await.expect("`prlimit` is a command").success());
}

// Cases: T-10
#[tokio::test]
async fn a_disk_that_is_full_at_commit_rolls_the_work_back() {
    run(async |bench: &Bench<Sqlite>| {
        let mut command = Command::new("sh");
        // A write beyond the limit is to fail, and not to kill.
        command.args(["-c", r#"trap "" XFSZ; exec "$0""#, PROGRAM]);
        let url = bench.place.url();
        let process = Process::spawn(command, &url).await;
        let earlier = process.send(&r1()).await;
        assert_ran(&earlier, 201);
        let file = url.strip_prefix("sqlite://").expect("the URL of a file");
        let log = fs::metadata(format!("{file}-wal")).expect("the file is in WAL mode").len();

        for path in ["/orders", "/declined"] {
            let request = r1().path(path).fresh_key();
            let keys = bench.key_rows().await.len();
            limit_files(&process, Some(log)).await;
            for _ in 0..2 {
                assert_problem(&process.send(&request).await, "idempotency_commit_rejected");
            }
            bench.assert_holds(keys, 1).await;
            limit_files(&process, None).await;

            let first = process.send(&request).await;
            assert_eq!(first.status, if path == "/orders" { 201 } else { 402 });
            assert_replays(&first, &process.send(&request).await);
            assert_replays(&earlier, &process.send(&r1()).await);
            bench.place.execute("DELETE FROM orders WHERE id > 1").await;
        }
        // A failed answer is a transaction of its own.
        let err = r1().path("/err");
        limit_files(&process, Some(log)).await;
        assert_problem(&process.send(&err).await, "idempotency_transient");
        limit_files(&process, None).await;
        assert_ran(&process.send(&err).await, 422);
    })
    .await;
}

// Cases: T-22
#[tokio::test]
async fn a_file_opened_read_only_is_unavailable_and_nothing_is_lost() {
    run(async |bench: &Bench<Sqlite>| {
        let writable = bench.start().await;
        let first = writable.send(&r1()).await;
        let read_only = bench.server().read_only().unmigrated().start().await;

        for request in [r1(), r1().fresh_key(), r1().path("/err")] {
            assert_problem(&read_only.send(&request).await, "idempotency_store_unavailable");
        }

        assert_eq!(read_only.runs(), 0);
        assert_replays(&first, &writable.send(&r1()).await);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: T-22
#[tokio::test]
async fn a_connection_that_became_read_only_is_replaced() {
    run(async |bench: &Bench<Sqlite>| {
        let server = bench.start().await;
        let query_only = sqlx::query("PRAGMA query_only = on").execute(&server.app.writer).await;
        query_only.expect("it can be set");

        assert_problem(&server.send(&r1()).await, "idempotency_store_unavailable");

        assert_eq!(server.runs(), 0);
        assert_ran(&server.send(&r1()).await, 201);
        bench.assert_holds(1, 1).await;
    })
    .await;
}
