//! One key, sent to several operations.

use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::{Bench, run_on_own_database};
use idem_tests::database::TestDatabase;
use idem_tests::http::{Request, open, r1};
use idem_tests::on_both_databases;
use idem_tests::process::Process;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::{Postgres, Transaction};

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn create<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(&mut *tx, &tenant, &order).await?)))
}

// Reports: B16
async fn one_handler_on_two_routes_is_two_operations<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new()
        .route("/orders", post(create::<DB>))
        .route("/gifts", post(create::<DB>))
        .nest("/v2", Router::new().route("/orders", post(create::<DB>)));
    let server = bench.server().routes(routes).start().await;

    let mut firsts = Vec::new();
    for path in ["/orders", "/gifts", "/v2/orders"] {
        let first = server.send(&r1().path(path)).await;
        assert_ran(&first, 201);
        firsts.push((path, first));
    }

    for (path, first) in firsts {
        assert_replays(&first, &server.send(&r1().path(path)).await);
    }
    bench.assert_holds(3, 3).await;
}

on_both_databases! {
    one_handler_on_two_routes_is_two_operations
}

// Reports: B43
#[tokio::test]
async fn a_key_in_flight_on_one_endpoint_is_free_on_another_and_both_survive_a_crash() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let url = bench.place.url(None);
        let before = Process::start(PROGRAM, &url).await;
        let (slow, refund) = (r1().path("/slow"), r1().path("/refunds"));

        let in_flight = open(before.address, &slow).await;
        assert_ran(&before.send(&Request::new("GET", "/gate?waiting=1")).await, 204);
        let refunded = before.send(&refund).await;
        before.kill().await;
        assert_eq!(in_flight.outcome().await, None);
        let after = Process::start(PROGRAM, &url).await;
        assert_ran(&after.send(&Request::new("POST", "/gate")).await, 204);
        let ordered = after.retry(&slow).await;

        assert_ran(&refunded, 201);
        assert_ran(&ordered, 201);
        assert_replays(&refunded, &after.send(&refund).await);
        assert_replays(&ordered, &after.send(&slow).await);
        assert_eq!(after.runs().await, 1);
        assert_eq!(bench.count("refunds").await, 1);
        bench.assert_holds(2, 1).await;
    })
    .await;
}
