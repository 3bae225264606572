//! `key = "event.id"`: the key is a member of the payload, and no header is asked for.

use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::AppError;
use idem_runtime::{Execution, IdempotencyKey, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

#[derive(Deserialize, Serialize)]
struct Event {
    id: String,
}

#[idempotent(scope = "endpoint", key = "event.id")]
async fn receive(
    tx: &mut SqliteConnection,
    Json(event): Json<Event>,
    execution: &Execution,
) -> Result<String, AppError> {
    let id = order(tx, &event.id).await?;
    Ok(format!("{id} {}", execution.key().map_or("", IdempotencyKey::as_str)))
}

#[tokio::test]
async fn the_key_is_where_the_attribute_says() {
    serve(Router::new().route("/events", post(receive)), async |bench, server| {
        let event = r1().path("/events").without("Idempotency-Key");
        let first = twice(server, &event.clone().body(r#"{"id":"evt_1"}"#)).await;
        let second = twice(server, &event.body(r#"{"id":"evt_2"}"#)).await;

        assert_eq!((first.text(), second.text()), ("1 evt_1", "2 evt_2"));
        bench.assert_holds(2, 2).await;
    })
    .await;
}
