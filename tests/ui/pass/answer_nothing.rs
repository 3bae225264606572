//! A handler without a return type, and one that never comes to its end.

use axum::routing::post;
use axum::{Json, Router};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut SqliteConnection) {
    order(tx, "tea").await.expect("an order");
}

#[idempotent(scope = "endpoint")]
async fn fail(tx: &mut SqliteConnection) -> Json<u64> {
    order(tx, "tea").await.expect("an order");
    panic!("before there is a number")
}

#[tokio::test]
async fn an_answer_may_be_empty_or_missing() {
    let routes = Router::new().route("/orders", post(create)).route("/fail", post(fail));
    serve(routes, async |bench, server| {
        let failed = server.open(&r1().path("/fail")).await.outcome().await;
        let created = twice(server, &r1()).await;

        assert!(failed.is_none(), "a panic closes the connection: {failed:?}");
        assert_eq!((created.status, created.text()), (200, ""));
        bench.assert_holds(1, 1).await;
    })
    .await;
}
