//! The attribute under another name, and by its path; spread over lines, with a trailing comma.

use axum::Router;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent as at_most_once;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[at_most_once(scope = " item , endpoint ", ttl = "3650d", record = "success")]
async fn create(tx: &mut SqliteConnection, item: String) -> Result<String, AppError> {
    Ok(order(tx, &item).await?.to_string())
}

#[idem_runtime::idempotent(allow(short_ttl), ttl = "1s", scope = "global")]
async fn create_soon(tx: &mut SqliteConnection, item: String) -> Result<String, AppError> {
    Ok(order(tx, &item).await?.to_string())
}

#[tokio::test]
async fn the_attribute_may_be_imported_in_any_way() {
    let routes = Router::new().route("/orders", post(create)).route("/soon", post(create_soon));
    serve(routes, async |bench, server| {
        let orders = twice(server, &r1().body("tea")).await;
        let soon = server.send(&r1().path("/soon").body("tea")).await;

        assert_eq!((orders.text(), soon.text()), ("1", "2"));
        bench.assert_holds(2, 2).await;
    })
    .await;
}
