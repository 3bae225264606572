//! How long a key is remembered, and what comes after.

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use sqlx::Transaction;
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::database::{KeyRow, Place as _, TestDatabase};
use crate::http::{open, r1};
use crate::patience::soon;
use crate::same::{assert_one_run, assert_ran, assert_replays};
use crate::scripted::Script;

type Created = Result<(StatusCode, Json<Order>), AppError>;

// Cases: X-01
// Reports: B19
pub async fn a_key_is_live_up_to_its_expiry<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let first = server.send(&r1()).await;

    // The cases say one second; the rest is for a machine that is busy.
    bench.expire_in(10).await;
    let again = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_eq!(server.runs(), 1);
}

// Cases: X-02
pub async fn a_key_that_expires_now_is_expired<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    assert_ran(&server.send(&r1()).await, 201);
    // Far in the future, until a reservation comes: then now, by the clock of its own transaction.
    bench.place.expire_as_reservations_begin().await;

    let taken_over = server.send(&r1()).await;

    assert_ran(&taken_over, 201);
    assert_eq!(server.runs(), 2);
    bench.assert_holds(1, 2).await;
}

// Cases: X-03
// Reports: B19
pub async fn an_expired_key_is_a_new_one<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let old = server.send(&r1()).await;
    let old_row = bench.key_row().await;

    bench.expire_in(-1).await;
    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_ne!(first.id(), old.id());
    assert_replays(&first, &again);
    let row = bench.key_row().await;
    assert!(row.created_at > old_row.created_at, "new times");
    assert!(row.completed_at > old_row.completed_at, "new times");
    assert_eq!(row.ttl_secs(), 86_400);
    bench.assert_holds(1, 2).await;
}

// Cases: X-04
pub async fn an_expired_key_takes_another_body<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    assert_ran(&server.send(&r1()).await, 201);
    let other = r1().body(r#"{"item":"tea","qty":2}"#);

    bench.expire_in(-1).await;
    let first = server.send(&other).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&other).await);
    bench.assert_holds(1, 2).await;
}

// Cases: X-05
pub async fn a_failed_answer_replaces_an_expired_one<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| match run {
        1 => Ok((StatusCode::CREATED, "first").into_response()),
        _ => Err((StatusCode::UNPROCESSABLE_ENTITY, "failed").into_response()),
    });
    let server = bench.server().routes(script.routes()).start().await;
    assert_ran(&server.send(&r1()).await, 201);
    let old_row = bench.key_row().await;

    bench.expire_in(-1).await;
    let failed = server.send(&r1()).await;

    assert_ran(&failed, 422);
    assert_replays(&failed, &server.send(&r1()).await);
    assert_replays(&failed, &server.send(&r1()).await);
    assert_eq!(script.runs(), 2);
    let row = bench.key_row().await;
    assert_eq!(row.status, Some(422));
    assert!(row.created_at > old_row.created_at, "the times of the new reservation");
    assert_eq!(row.ttl_secs(), 86_400);
    bench.assert_holds(1, 1).await;
}

// Cases: X-05
pub async fn a_failure_that_is_not_stored_leaves_the_expired_row<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| match run {
        2 => Err((StatusCode::UNPROCESSABLE_ENTITY, "failed").into_response()),
        _ => Ok((StatusCode::CREATED, "ran").into_response()),
    });
    let server = bench.server().routes(script.routes()).start().await;
    let request = r1().path("/success");
    assert_ran(&server.send(&request).await, 201);
    bench.expire_in(-1).await;
    let expired = bench.key_row().await;

    let failed = server.send(&request).await;
    let after = bench.key_row().await;
    let next = server.send(&request).await;

    assert_ran(&failed, 422);
    assert_eq!(after, expired);
    assert_ran(&next, 201);
    bench.assert_holds(1, 2).await;
}

// Cases: X-06
pub async fn a_crowd_on_an_expired_key_runs_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let servers = [bench.start().await, bench.start().await];
    assert_ran(&servers[0].send(&r1()).await, 201);

    for _ in 0..5 {
        bench.expire_in(-1).await;
        let mut clients = JoinSet::new();
        for client in 0..20 {
            let address = servers[client % 2].address;
            clients.spawn(async move { open(address, &r1()).await.answer().await });
        }
        assert_one_run(&soon(clients.join_all()).await);
    }

    assert_eq!(servers[0].runs() + servers[1].runs(), 6);
    bench.assert_holds(1, 6).await;
}

// Cases: X-07
pub async fn a_replay_does_not_extend_the_time<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let first = server.send(&r1()).await;

    // An hour later, as far as the row can tell.
    bench.expire_in(23 * 3600).await;
    let row = bench.key_row().await;
    let again = server.send(&r1()).await;

    assert_replays(&first, &again);
    assert_eq!(bench.key_row().await, row);
}

#[idempotent(scope = "tenant,endpoint", ttl = "1h", allow(short_ttl))]
async fn for_an_hour<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

#[idempotent(scope = "tenant,endpoint", ttl = "72h")]
async fn for_three_days<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

// Cases: X-08
pub async fn each_endpoint_has_its_own_ttl<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new()
        .route("/hour", post(for_an_hour::<DB>))
        .route("/days", post(for_three_days::<DB>));
    let server = bench.server().routes(routes).start().await;

    assert_ran(&server.send(&r1().path("/hour")).await, 201);
    assert_ran(&server.send(&r1().path("/days")).await, 201);

    let ttls = bench.key_rows().await.iter().map(KeyRow::ttl_secs).collect::<Vec<_>>();
    assert_eq!(ttls, [3600, 72 * 3600]);
}

// Cases: X-08
pub async fn a_changed_ttl_leaves_old_rows_alone<DB: TestDatabase>(bench: &Bench<DB>) {
    let route = |handler| Router::<App<DB>>::new().route("/orders", handler);
    let old = bench.server().routes(route(post(for_an_hour::<DB>))).start().await;
    let new = bench.server().routes(route(post(for_three_days::<DB>))).start().await;

    let first = old.send(&r1()).await;
    let row = bench.key_row().await;
    let again = new.send(&r1()).await;

    assert_replays(&first, &again);
    assert_eq!(bench.key_row().await, row);
}

// Cases: X-16
// Reports: B32
pub async fn the_business_constraint_holds_when_the_key_has_expired<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let request = r1().body(r#"{"item":"tea","qty":1,"order_no":"A-1"}"#);
    assert_ran(&server.send(&request).await, 201);

    bench.expire_in(-1).await;
    let taken = server.send(&request).await;

    assert_ran(&taken, 409);
    assert_eq!(taken.text(), r#"{"error":"order_no_taken"}"#);
    assert_replays(&taken, &server.send(&request).await);
    bench.assert_holds(1, 1).await;
}
