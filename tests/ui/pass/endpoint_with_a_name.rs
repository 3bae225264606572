//! `endpoint = "…"`: the handler has a name of its own, so it may move to another route without losing its keys.

use axum::Router;
use axum::routing::post;
use idem_examples::reference::{AppError, TenantId};
use idem_runtime::{Execution, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "tenant,endpoint", endpoint = "orders.create")]
async fn create(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    execution: &Execution,
) -> Result<String, AppError> {
    order(tx, &tenant.0).await?;
    Ok(execution.scope().text())
}

#[tokio::test]
async fn a_key_outlives_its_route() {
    let routes = Router::new().route("/v1/orders", post(create)).route("/v2/{shop}/orders", post(create));
    serve(routes, async |bench, server| {
        let before = twice(server, &r1().path("/v1/orders")).await;
        let after = server.send(&r1().path("/v2/s1/orders")).await;

        assert_eq!(before.text(), "tenant=t1&endpoint=orders.create");
        assert_eq!((after.text(), after.is_replay()), (before.text(), true));
        bench.assert_holds(1, 1).await;
    })
    .await;
}
