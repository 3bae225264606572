//! Policies that extract nothing: a unit struct, and one with braces.

use axum::Router;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::{IdempotencyKey, Policy, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

#[derive(Policy)]
#[policy(scope = "endpoint", header = "X-Request-Id", syntax = "strict")]
struct Internal;

#[derive(Policy)]
#[policy(scope = "global", fingerprint = "off", replay_headers = "x-total", max_response = "1KiB")]
struct Open {}

#[idempotent(policy = Internal)]
async fn create(tx: &mut SqliteConnection, item: String) -> Result<String, AppError> {
    Ok(order(tx, &item).await?.to_string())
}

#[idempotent(policy = Open)]
async fn create_openly(
    tx: &mut SqliteConnection,
    item: String,
) -> Result<([(&'static str, &'static str); 1], String), AppError> {
    Ok(([("x-total", "7")], order(tx, &item).await?.to_string()))
}

#[tokio::test]
async fn a_policy_may_be_options_alone() {
    let routes = Router::new().route("/orders", post(create)).route("/open", post(create_openly));
    serve(routes, async |bench, server| {
        let internal = r1().without("Idempotency-Key").field("X-Request-Id", "\"r-1\"").body("tea");
        let created = twice(server, &internal).await;
        let opened = twice(server, &r1().path("/open").body("tea")).await;
        let other = server.send(&r1().path("/open").body("milk")).await;

        assert_eq!((created.text(), opened.text(), other.text()), ("1", "2", "2"));
        assert_eq!((other.is_replay(), other.field("x-total")), (true, Some("7")));
        bench.assert_holds(2, 2).await;

        // A policy is what a guard made by hand takes as well.
        let key = IdempotencyKey::new("by-hand").expect("the key is valid");
        let direct = create(server.app.idempotency.guard(key, Internal), "tea".to_owned()).await;
        assert_eq!(direct.status(), 200);
    })
    .await;
}
