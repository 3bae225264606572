//! Handlers that leave their transaction in a state in which nothing may be promised.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, Order, Probe, TenantId, insert_order};
use idem_runtime::idempotent;
use sqlx::{Acquire as _, Transaction};

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::r1;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};

type Created = Result<(StatusCode, Json<Order>), AppError>;

fn created(order: Order) -> (StatusCode, Json<Order>) {
    (StatusCode::CREATED, Json(order))
}

/// A server whose `POST /orders` is this handler.
macro_rules! serve {
    ($bench:expr, $handler:expr) => {
        $bench.server().routes(Router::<App<DB>>::new().route("/orders", post($handler))).start().await
    };
}

/// Two tables of which one refers to the other, checked at COMMIT.
async fn create_deferred_reference<DB: TestDatabase>(bench: &Bench<DB>) {
    bench.place.execute("CREATE TABLE parents (id bigint PRIMARY KEY)").await;
    bench
        .place
        .execute(
            "CREATE TABLE children (
                 parent bigint NOT NULL REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)",
        )
        .await;
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn violates_a_deferred_constraint<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    DB::execute(&mut *tx, "INSERT INTO children (parent) VALUES (42)", &[]).await?;
    Ok(created(order))
}

// Cases: T-10
// Reports: B41
pub async fn a_commit_that_the_database_refuses_is_no_success<DB: TestDatabase>(bench: &Bench<DB>) {
    create_deferred_reference(bench).await;
    let server = serve!(bench, violates_a_deferred_constraint::<DB>);

    for _ in 0..2 {
        assert_problem(&server.send(&r1()).await, "idempotency_commit_rejected");
    }
    bench.assert_holds(0, 0).await;
    bench.place.execute("INSERT INTO parents (id) VALUES (42)").await;
    let first = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn swallows_an_error<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Created {
    probe.ran();
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    let failed = DB::execute(&mut *tx, "INSERT INTO orders (tenant) VALUES (NULL)", &[]).await;
    assert!(failed.is_err(), "the statement was made to fail");
    Ok(created(order))
}

// Cases: T-11, Z-04
// Reports: B27
pub async fn a_swallowed_database_error_is_no_success_where_it_aborts<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = serve!(bench, swallows_an_error::<DB>);

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    if DB::ERRORS_ABORT {
        assert_problem(&first, "idempotency_commit_rejected");
        assert_problem(&again, "idempotency_commit_rejected");
        assert_eq!(server.runs(), 2);
        bench.assert_holds(0, 0).await;
    } else {
        // SQLite undoes the failed statement only, and the transaction goes on.
        assert_ran(&first, 201);
        assert_replays(&first, &again);
        bench.assert_holds(1, 1).await;
    }
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn rolls_a_savepoint_back<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    let kept = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    let mut nested = tx.begin().await?;
    insert_order::<DB>(&mut nested, &tenant, &order).await?;
    nested.rollback().await?;
    Ok(created(kept))
}

// Cases: T-12
pub async fn a_savepoint_of_the_handlers_own_is_its_own<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = serve!(bench, rolls_a_savepoint_back::<DB>);

    let first = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn survives_a_failed_savepoint<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    let kept = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    let mut nested = tx.begin().await?;
    let failed = DB::execute(&mut nested, "INSERT INTO orders (tenant) VALUES (NULL)", &[]).await;
    assert!(failed.is_err(), "the statement was made to fail");
    nested.rollback().await?;
    Ok(created(kept))
}

// Cases: T-12
pub async fn an_error_within_a_savepoint_does_not_spoil_the_rest<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = serve!(bench, survives_a_failed_savepoint::<DB>);

    assert_ran(&server.send(&r1()).await, 201);

    bench.assert_holds(1, 1).await;
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn deletes_its_own_key<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    // Unqualified: the search path of PostgreSQL leads to the test's schema.
    DB::execute(&mut *tx, "DELETE FROM idempotency_keys", &[]).await?;
    Ok(created(order))
}

// Cases: T-15
pub async fn a_run_whose_row_is_gone_is_no_success<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = serve!(bench, deletes_its_own_key::<DB>);

    assert_problem(&server.send(&r1()).await, "idempotency_commit_rejected");

    bench.assert_holds(0, 0).await;
}

/// Polls a statement once and gives it up, as a `select!` or a time-out in a handler does. The database has it by
/// then, since it knows the statement already.
async fn give_up<DB: TestDatabase>(tx: &mut Transaction<'_, DB>, sql: &'static str) -> Result<(), AppError> {
    let mut nested = tx.begin().await?;
    drop(DB::execute(&mut nested, sql, &[]).await);
    nested.rollback().await?;

    let mut statement = pin!(DB::execute(&mut *tx, sql, &[]));
    poll_fn(|context| Poll::Ready(statement.as_mut().poll(context).is_ready())).await;
    Ok(())
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn gives_a_statement_up<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Path(sort): Path<String>,
    Json(order): Json<NewOrder>,
) -> Created {
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    let sql = if sort == "good" {
        "SELECT count(*) FROM orders"
    } else {
        "INSERT INTO orders (tenant) VALUES (NULL)"
    };
    give_up(tx, sql).await?;
    Ok(created(order))
}

// Cases: T-11
pub async fn a_statement_that_was_given_up_does_no_harm_unless_it_fails<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/{sort}", post(gives_a_statement_up::<DB>));
    let server = bench.server().routes(routes).start().await;

    let good = server.send(&r1().path("/good").fresh_key()).await;
    let bad = server.send(&r1().path("/bad").fresh_key()).await;

    assert_ran(&good, 201);
    if DB::ERRORS_ABORT {
        assert_problem(&bad, "idempotency_commit_rejected");
        bench.assert_holds(1, 1).await;
    } else {
        assert_ran(&bad, 201);
        bench.assert_holds(2, 2).await;
    }
}
