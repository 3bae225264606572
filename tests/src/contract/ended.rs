//! Handlers that end their transaction, or leave part of it open: nothing may be promised of what nobody knows.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, Order, Probe, TenantId, insert_order};
use idem_runtime::{Execution, idempotent};
use sqlx::{Acquire as _, Transaction};

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::problem::assert_problem;
use crate::same::assert_ran;
use crate::server::Server;

type Created = Result<(StatusCode, Json<Order>), AppError>;

/// An order that is written whether or not a transaction is open: one message, without values, which even a pooler
/// sends to one server.
const INSERT: &str = "INSERT INTO orders (tenant, item, qty) VALUES ('t1', 'tea', 1)";

/// A server whose `POST /orders` is this handler.
macro_rules! serve {
    ($bench:expr, $handler:expr) => {
        $bench.server().routes(Router::<App<DB>>::new().route("/orders", post($handler))).start().await
    };
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn commits_by_itself<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> (StatusCode, &'static str) {
    probe.ran();
    let inserted = insert_order::<DB>(&mut *tx, &tenant, &order).await;
    let committed = DB::execute(&mut *tx, "COMMIT", &[]).await;
    assert_eq!(committed.is_ok(), DB::ERRORS_ABORT, "{inserted:?}, then {committed:?}");
    (StatusCode::CREATED, "done")
}

// Cases: T-25
// Reports: B27
pub async fn a_handler_that_commits_by_itself_never_succeeds_nor_runs_again<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let server = serve!(bench, commits_by_itself::<DB>);

    let first = server.send(&r1()).await;
    if DB::WRITES_IN_PARALLEL {
        // PostgreSQL commits what was written so far, the key row without an answer included.
        assert_problem(&first, "idempotency_outcome_unknown");
        for _ in 0..3 {
            assert_problem(&server.send(&r1()).await, "idempotency_needs_reconciliation");
        }
        assert_eq!(server.runs(), 1);
        assert_eq!(bench.count("orders").await, 1);

        bench.expire_in(-1).await;
        assert_problem(&server.send(&r1()).await, "idempotency_outcome_unknown");
        assert_eq!(server.runs(), 2);
    } else {
        // On SQLite the commit hook refuses it, and SQLite rolls everything back.
        assert_problem(&first, "idempotency_commit_rejected");
        bench.assert_holds(0, 0).await;
        assert_problem(&server.send(&r1()).await, "idempotency_commit_rejected");
        assert_eq!(server.runs(), 2);
        bench.assert_holds(0, 0).await;
    }
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn leaks_a_savepoint<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    let order = {
        let mut nested = tx.begin().await?;
        let order = insert_order::<DB>(&mut nested, &tenant, &order).await?;
        std::mem::forget(nested);
        order
    };
    Ok((StatusCode::CREATED, Json(order)))
}

// Cases: T-26
pub async fn a_leaked_savepoint_is_no_success<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = serve!(bench, leaks_a_savepoint::<DB>);

    for _ in 0..12 {
        assert_problem(&server.send(&r1()).await, "idempotency_commit_rejected");
    }

    bench.assert_holds(0, 0).await;
}

/// Answers 201 after a savepoint that was given up while it was being made, and 200 after one that was made
/// too quickly for that.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn cancels_a_savepoint<DB: TestDatabase>(tx: &mut Transaction<'_, DB>, tenant: TenantId) -> StatusCode {
    let is_cancelled = {
        let mut begin = pin!(tx.begin());
        poll_fn(|context| Poll::Ready(begin.as_mut().poll(context).is_pending())).await
    };
    // SQLite refuses it outside a transaction; the handler does not care, as careless ones do not.
    drop(DB::execute(&mut *tx, INSERT, &[]).await);
    if is_cancelled { StatusCode::CREATED } else { StatusCode::OK }
}

// Cases: T-27
pub async fn a_cancelled_savepoint_is_no_success<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = serve!(bench, cancels_a_savepoint::<DB>);

    for _ in 0..12 {
        let answer = server.send(&r1().fresh_key()).await;

        // sqlx ends the whole transaction with the savepoint, so what the handler writes afterwards stands
        // alone and nobody can take it back.
        if answer.status == 200 {
            assert_ran(&answer, 200);
        } else {
            assert_problem(&answer, "idempotency_outcome_unknown");
        }
    }
    // The rows of the others, where there are any, have no answer: none may run again.
    assert!(bench.key_rows().await.iter().all(|row| matches!(row.status, Some(200) | None)), "none says 201");
}

/// Ends the transaction by a raw statement, then begins another, so that sqlx knows of nothing.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn replaces_its_transaction<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Path(end): Path<String>,
    Json(order): Json<NewOrder>,
) -> (StatusCode, &'static str) {
    probe.ran();
    let inserted = insert_order::<DB>(&mut *tx, &tenant, &order).await;
    let sql = if end == "commit" { "COMMIT" } else { "ROLLBACK" };
    let ended = DB::execute(&mut *tx, sql, &[]).await;
    let begun = DB::execute(&mut *tx, "BEGIN", &[]).await;
    // Whether these succeed is the database's affair; the handler does not care, as careless ones do not.
    drop((inserted, ended, begun));
    (StatusCode::CREATED, "done")
}

// Cases: T-25
pub async fn a_handler_that_replaces_its_transaction_never_succeeds<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/{end}", post(replaces_its_transaction::<DB>));
    let server = bench.server().connections(2).routes(routes).start().await;

    for end in ["/commit", "/rollback"] {
        for _ in 0..4 {
            let answer = server.send(&r1().path(end).fresh_key()).await;

            assert!(answer.status >= 500, "{answer:?}");
            let code = answer.json()["code"].as_str().unwrap_or_default().to_owned();
            assert_problem(&answer, &code);
        }
    }
    // Only what PostgreSQL was told to commit is there, and with it the rows that say so.
    let expected = if DB::WRITES_IN_PARALLEL { 4 } else { 0 };
    assert_eq!(bench.count("orders").await, expected);
    let rows = bench.key_rows().await;
    assert_eq!(rows.iter().filter(|row| row.is_completed()).count(), 0, "{rows:?}");
}

/// Ends the transaction by a raw statement and writes on, each write committed by itself.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn rolls_back_and_writes_on<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Path(status): Path<u16>,
) -> StatusCode {
    probe.ran();
    drop(DB::execute(&mut *tx, "ROLLBACK", &[]).await);
    drop(DB::execute(&mut *tx, INSERT, &[]).await);
    StatusCode::from_u16(status).expect("the test asks for a status")
}

// Each retry wrote once more, and a failure was stored as rolled back.
// Cases: T-25
// Reports: B27
pub async fn a_handler_that_rolls_back_and_writes_on_runs_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/{status}", post(rolls_back_and_writes_on::<DB>));
    let server = bench.server().routes(routes).start().await;

    for (number, path) in (1..).zip(["/201", "/422", "/503"]) {
        let request = r1().path(path).fresh_key();
        let first = server.send(&request).await;
        let again = server.send(&request).await;

        if DB::WRITES_IN_PARALLEL {
            assert_problem(&first, "idempotency_outcome_unknown");
            assert_problem(&again, "idempotency_needs_reconciliation");
            assert_eq!(server.runs(), number);
            assert_eq!(bench.count("orders").await, i64::try_from(number).expect("a small number"));
        } else {
            // The writes are refused, so nothing has happened, and a success is none.
            for answer in [&first, &again] {
                match path {
                    "/201" => assert_problem(answer, "idempotency_commit_rejected"),
                    _ => assert!(path.ends_with(&answer.status.to_string()), "{path}: {answer:?}"),
                }
            }
            assert_eq!(bench.count("orders").await, 0);
        }
    }
}

/// Asserts that the server works as if nothing had happened.
async fn assert_works<DB: TestDatabase>(server: &Server<DB>) {
    assert_ran(&server.send(&r1().fresh_key()).await, 201);
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn ends_its_first_run_badly<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> axum::response::Response {
    probe.ran();
    if probe.runs() == 1 {
        std::mem::forget(tx.begin().await);
    }
    insert_order::<DB>(&mut *tx, &tenant, &order)
        .await
        .map(|order| (StatusCode::CREATED, Json(order)))
        .into_response()
}

// Cases: T-26
pub async fn the_pool_works_after_a_leaked_savepoint<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/orders", post(ends_its_first_run_badly::<DB>));
    let server = bench.server().connections(1).routes(routes).start().await;

    assert_problem(&server.send(&r1()).await, "idempotency_commit_rejected");
    assert_works(&server).await;
    assert_ran(&server.send(&r1()).await, 201);

    bench.assert_holds(2, 2).await;
}

#[idempotent(scope = "tenant,endpoint", required = false)]
async fn rolls_back_and_says_that_it_is_done<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    execution: &Execution,
    Json(order): Json<NewOrder>,
) -> Created {
    execution.after_commit(async move { probe.ran() });
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    DB::execute(&mut *tx, "ROLLBACK", &[]).await?;
    Ok((StatusCode::CREATED, Json(order)))
}

// Without a key it was a success, and what was queued for after COMMIT was done.
pub async fn a_handler_that_rolls_back_without_a_key_never_succeeds<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = serve!(bench, rolls_back_and_says_that_it_is_done::<DB>);

    let answer = server.send(&r1().without("Idempotency-Key")).await;

    let problem =
        if DB::WRITES_IN_PARALLEL { "idempotency_outcome_unknown" } else { "idempotency_commit_rejected" };
    assert_problem(&answer, problem);
    assert_eq!(server.app.idempotency.drain(Duration::from_secs(20)).await, 0);
    assert_eq!(server.runs(), 0, "nothing was committed");
    bench.assert_holds(0, 0).await;
}
