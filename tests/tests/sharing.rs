//! Two services whose handlers share the policies of a third crate: `examples/sharing`.

use idem_tests::bench::{Bench, run};
use idem_tests::http::{Request, r1};
use idem_tests::server::Server;
use idem_tests::shape::twice;
use serde_json::json;
use sqlx::Sqlite;

const HOUR_IN_MICROS: i64 = 3_600_000_000;

/// Both services, each with an engine of its own on the one database.
async fn both(bench: &Bench<Sqlite>) -> (Server<Sqlite>, Server<Sqlite>) {
    let orders = bench.server().router(|app| orders_service::router(app.idempotency)).start().await;
    let refunds = bench.server().router(|app| refunds_service::router(app.idempotency)).start().await;
    let pool = &orders.app.writer;
    orders_service::create_tables(pool).await.expect("the table can be created");
    refunds_service::create_tables(pool).await.expect("the table can be created");
    (orders, refunds)
}

fn refund() -> Request {
    r1().path("/refunds").body(r#"{"order_id":1,"cents":250}"#)
}

/// A request of the warehouse.
fn restock(id: &str) -> Request {
    r1().path("/restocks")
        .without("Idempotency-Key")
        .without("X-Tenant")
        .field("X-Service", "warehouse")
        .field("X-Request-Id", id)
}

#[tokio::test]
async fn a_retry_is_a_replay_in_either_service() {
    run(async |bench: &Bench<Sqlite>| {
        let (orders, refunds) = both(bench).await;

        let order = twice(&orders, &r1()).await;
        let refund = twice(&refunds, &refund()).await;

        assert_eq!((order.status, &order.json()["tenant"]), (201, &json!("t1")));
        assert_eq!((refund.status, refund.json()), (201, json!({ "id": 1, "cents": 250 })));
        assert_eq!((bench.count("orders").await, bench.count("repayments").await), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn the_same_key_in_two_services_is_two_keys() {
    run(async |bench: &Bench<Sqlite>| {
        let (orders, refunds) = both(bench).await;

        twice(&orders, &r1()).await;
        twice(&refunds, &refund()).await;

        let scopes: Vec<String> = bench.key_rows().await.into_iter().map(|row| row.scope).collect();
        assert_eq!(scopes, ["tenant=t1&endpoint=POST%20/orders", "tenant=t1&endpoint=POST%20/refunds"]);
    })
    .await;
}

#[tokio::test]
async fn two_tenants_may_use_the_same_key() {
    run(async |bench: &Bench<Sqlite>| {
        let (orders, _) = both(bench).await;

        let one = twice(&orders, &r1()).await;
        let other = twice(&orders, &r1().tenant("t2")).await;

        assert_eq!((one.id(), other.id()), (1, 2));
        assert_ne!(one.json()["charge_key"], other.json()["charge_key"]);
    })
    .await;
}

#[tokio::test]
async fn a_service_may_remember_for_longer_than_the_policy_says() {
    run(async |bench: &Bench<Sqlite>| {
        let (orders, refunds) = both(bench).await;

        twice(&orders, &r1()).await;
        twice(&refunds, &refund()).await;

        let rows = bench.key_rows().await;
        let ttls: Vec<i64> =
            rows.iter().map(|row| (row.expires_at - row.created_at) / HOUR_IN_MICROS).collect();
        assert_eq!(ttls, [72, 30 * 24]);
    })
    .await;
}

#[tokio::test]
async fn what_the_policy_rejects_is_the_answer() {
    run(async |bench: &Bench<Sqlite>| {
        let (orders, refunds) = both(bench).await;

        let order = orders.send(&r1().without("X-Tenant").without("Idempotency-Key")).await;
        let refund = refunds.send(&refund().without("X-Tenant")).await;

        for answer in [order, refund] {
            assert_eq!(answer.status, 401);
            assert_eq!(answer.json(), json!({ "error": "unauthenticated", "header": "x-tenant" }));
        }
        bench.assert_holds(0, 0).await;
    })
    .await;
}

#[tokio::test]
async fn a_charge_has_one_key_however_often_its_order_is_tried() {
    run(async |bench: &Bench<Sqlite>| {
        let (orders, _) = both(bench).await;

        let order = twice(&orders, &r1()).await;
        bench.expire_in(-1).await;
        let after_expiry = twice(&orders, &r1()).await;

        assert_eq!((order.id(), after_expiry.id()), (1, 2));
        assert_eq!(order.json()["charge_key"], after_expiry.json()["charge_key"]);
    })
    .await;
}

#[tokio::test]
async fn the_internal_policy_has_a_header_a_format_and_a_status_of_its_own() {
    run(async |bench: &Bench<Sqlite>| {
        let (orders, _) = both(bench).await;
        let request = restock("\"3f2c0a7e-8d51-4c1b-9a55-0c8f4f1f6b10\"");

        let restocked = twice(&orders, &request).await;
        let reused = orders.send(&request.clone().body(r#"{"item":"tea","qty":2}"#)).await;
        let no_uuid = orders.send(&restock("\"k-1\"")).await;
        let customer = orders.send(&request.without("X-Service")).await;

        assert_eq!((restocked.status, reused.status, no_uuid.status), (204, 409, 400));
        assert_eq!(customer.json()["header"], "x-service");
        assert_eq!(bench.key_row().await.scope, "caller=warehouse&endpoint=POST%20/restocks");
        bench.assert_holds(1, 1).await;
    })
    .await;
}
