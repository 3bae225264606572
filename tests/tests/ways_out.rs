//! However a handler is left, its key is not stuck, and what was sent is stored.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn, map_response};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, Order, Probe, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::r1;
use idem_tests::on_both_databases;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::Transaction;

type Created = Result<(StatusCode, Json<Order>), AppError>;

/// Has a task of its own fail, and answers nevertheless.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn spawns<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Created {
    probe.ran();
    let task = tokio::spawn(async { panic!("the task was told to") });
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    let failed: Result<(), _> = task.await;
    assert!(failed.is_err(), "the task was told to fail");
    Ok((StatusCode::CREATED, Json(order)))
}

// Reports: B23
async fn a_task_that_fails_beside_the_handler_is_no_part_of_its_run<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/orders", post(spawns::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

/// Fails in its first run, between two writes.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn returns_early<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Created {
    probe.ran();
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    if probe.runs() == 1 {
        DB::execute(&mut *tx, "INSERT INTO orders (tenant) VALUES (NULL)", &[]).await?;
    }
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    Ok((StatusCode::CREATED, Json(order)))
}

// Reports: B23
async fn an_error_on_the_way_frees_the_key_and_takes_the_writes_back<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/orders", post(returns_early::<DB>));
    let server = bench.server().routes(routes).start().await;

    let failed = server.send(&r1()).await;
    bench.assert_holds(0, 0).await;
    let first = server.send(&r1()).await;

    assert_ran(&failed, 500);
    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 2).await;
}

// Reports: B23
async fn what_a_layer_makes_of_the_answer_is_made_again_of_its_replay<DB: TestDatabase>(bench: &Bench<DB>) {
    let wrap = async |response: Response| (StatusCode::ACCEPTED, response.into_body()).into_response();
    let server = bench.server().wrap(move |router| router.layer(map_response(wrap))).start().await;

    let first = server.send(&r1()).await;
    // Stored before it was sent: nobody had to ask again for that.
    bench.assert_holds(1, 1).await;
    let again = server.send(&r1()).await;

    assert_eq!([first.status, again.status], [202, 202]);
    assert_eq!(first.body, again.body);
    assert_eq!(bench.key_row().await.status, Some(201), "the handler's own answer");
    assert_eq!(server.runs(), 1);
}

// Reports: B23
async fn an_answer_that_a_layer_gives_by_itself_leaves_the_key_unused<DB: TestDatabase>(bench: &Bench<DB>) {
    let refuse = async |request: Request, next: Next| {
        if request.headers().contains_key("x-closed") {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        next.run(request).await
    };
    let server = bench.server().wrap(move |router| router.layer(from_fn(refuse))).start().await;

    let refused = server.send(&r1().field("X-Closed", "yes")).await;
    bench.assert_holds(0, 0).await;
    let first = server.send(&r1()).await;

    assert_ran(&refused, 503);
    assert_ran(&first, 201);
    bench.assert_holds(1, 1).await;
}

on_both_databases! {
    a_task_that_fails_beside_the_handler_is_no_part_of_its_run
    an_error_on_the_way_frees_the_key_and_takes_the_writes_back
    what_a_layer_makes_of_the_answer_is_made_again_of_its_replay
    an_answer_that_a_layer_gives_by_itself_leaves_the_key_unused
}
