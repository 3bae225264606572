//! What an operator, a start-up or a unit test asks of the engine without HTTP.

use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::IntoResponse as _;
use idem_examples::reference::{AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::{IdempotencyKey, NoPolicy, Scope, idempotent};
use sqlx::Transaction;
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::r1;
use crate::patience::soon;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Script;

/// The scope and the key of R1 at `route`.
fn row_of(route: &str) -> (Scope, IdempotencyKey) {
    let scope = Scope::new().with("tenant", "t1").and_then(|scope| scope.endpoint("POST", route));
    (scope.expect("a valid scope"), IdempotencyKey::new("k-0001").expect("a valid key"))
}

// Cases
pub async fn find_shows_the_stored_answer_while_it_lives<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let (scope, key) = row_of("/orders");
    let find = async || server.app.idempotency.find(&scope, &key).await.expect("the database works");

    assert!(find().await.is_none(), "never seen");
    let first = server.send(&r1()).await;
    let row = find().await.expect("completed");
    bench.expire_in(-1).await;
    let expired = find().await;

    let stored = bench.key_row().await;
    assert!(!row.is_broken());
    let response = row.response.expect("an answer");
    assert_eq!(response.status().as_u16(), first.status);
    assert_eq!(response.body(), &first.body[..]);
    assert_eq!(
        response.headers().get("location").map(HeaderValue::as_bytes),
        first.values("location").next()
    );
    assert!(row.completed_at_micros.is_some());
    assert_eq!(row.completed_at_micros, stored.completed_at);
    assert_eq!(row.created_at_micros, stored.created_at);
    assert_eq!(row.expires_at_micros, stored.created_at + 86_400_000_000);
    assert!(expired.is_none(), "expired");
}

// Cases: C-01
pub async fn find_shows_nothing_of_a_run_that_goes_on<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let (scope, key) = row_of("/slow");

    let first = server.open_up_to_the_gate(&r1().path("/slow")).await;
    let meanwhile = soon(server.app.idempotency.find(&scope, &key)).await.expect("the database works");
    server.gate().open();

    assert!(meanwhile.is_none());
    assert_ran(&first.answer().await, 201);
}

// Cases: R-01
pub async fn a_forgotten_key_is_a_new_one<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let (scope, key) = row_of("/orders");
    let forget = async || server.app.idempotency.forget(&scope, &key).await.expect("the database works");

    assert!(!forget().await, "never seen");
    let old = server.send(&r1()).await;
    assert!(forget().await, "completed");
    bench.assert_holds(0, 1).await;
    let first = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_ne!(first.id(), old.id());
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 2).await;
}

// Cases: T-25
pub async fn a_row_without_an_answer_is_found_and_can_be_forgotten<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let (scope, key) = row_of("/orders");
    assert_ran(&server.send(&r1()).await, 201);
    let table = bench.place.key_table();
    let unfinished =
        "response_status = NULL, response_headers = NULL, response_body = NULL, completed_at = NULL";
    bench.place.execute(&format!("UPDATE {table} SET {unfinished}")).await;
    assert_problem(&server.send(&r1()).await, "idempotency_needs_reconciliation");

    let found = server.app.idempotency.find(&scope, &key).await.expect("the database works");
    let forgotten = server.app.idempotency.forget(&scope, &key).await.expect("the database works");

    let found = found.expect("the row is there");
    assert!(found.response.is_none() && found.is_broken());
    assert!(forgotten);
    assert_ran(&server.send(&r1()).await, 201);
    bench.assert_holds(1, 2).await;
}

// Cases: R-10
pub async fn the_times_of_a_failed_answer_are_those_of_its_reservation<DB: TestDatabase>(bench: &Bench<DB>) {
    let gate = idem_examples::reference::Gate::default();
    let script = Script::err(|| (StatusCode::UNPROCESSABLE_ENTITY, "no")).at_gate(&gate);
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.open(&r1()).await;
    soon(gate.arrivals(1)).await;
    let meanwhile = bench.place.clock().await;
    gate.open();
    assert_ran(&first.answer().await, 422);

    let row = bench.key_row().await;
    assert!(row.created_at <= meanwhile, "reserved before the handler ran: {row:?}, {meanwhile}");
    assert!(row.completed_at >= Some(meanwhile), "completed after it: {row:?}, {meanwhile}");
    assert_eq!(row.expires_at, row.created_at + 86_400_000_000);
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn create_order<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

// Cases: R-01
pub async fn a_handler_can_be_called_without_a_server<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().app().await;
    let call = async |qty| {
        let key = IdempotencyKey::new("k-0001").expect("a valid key");
        let guard = app.idempotency.guard(key, NoPolicy).on(Method::POST, "/orders");
        let order = NewOrder { item: "tea".to_owned(), qty, order_no: None };
        create_order::<DB>(guard, TenantId("t1".to_owned()), Json(order)).await.into_response()
    };

    let (first, again, other) = (call(1).await, call(1).await, call(2).await);

    assert_eq!(first.status(), StatusCode::CREATED);
    assert_eq!(again.status(), StatusCode::CREATED);
    assert_eq!(again.headers().get("idempotent-replayed").map(HeaderValue::as_bytes), Some(&b"true"[..]));
    assert_eq!(other.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(bench.key_row().await.scope, "tenant=t1&endpoint=POST%20/orders");
    bench.assert_holds(1, 1).await;
}

// Cases: T-23
pub async fn the_table_can_be_created_by_several_processes_at_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let mut processes = JoinSet::new();
    for _ in 0..4 {
        let app = bench.server().unmigrated().app().await;
        processes.spawn(async move { app.idempotency.migrate().await });
    }

    for migrated in soon(processes.join_all()).await {
        migrated.expect("the key table can be created");
    }
    assert_ran(&bench.server().unmigrated().start().await.send(&r1()).await, 201);
}

// Cases: T-23
// Reports: B40
pub async fn a_check_says_that_the_table_is_missing<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().unmigrated().app().await;

    let missing = app.idempotency.check().await.expect_err("there is no table");
    app.idempotency.migrate().await.expect("the key table can be created");

    assert!(matches!(&missing, idem_runtime::Error::Misconfigured(_)), "{missing:?}");
    assert!(missing.to_string().contains("idempotency_keys"), "{missing}");
    app.idempotency.check().await.expect("the table is there now");
}
