//! `#[utoipa::path]` below the attribute: it documents the handler as the router sees it.

use axum::Json;
use axum::extract::Path;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;
use utoipa::{OpenApi as _, ToSchema};

#[derive(Deserialize, Serialize, ToSchema)]
struct NewOrder {
    item: String,
}

/// Creates an order.
#[idempotent(scope = "shop,endpoint")]
#[utoipa::path(post, path = "/orders/{shop}", params(("shop" = String, Path)), responses((status = 200, body = String)))]
async fn create(
    tx: &mut SqliteConnection,
    Path(shop): Path<String>,
    Json(new): Json<NewOrder>,
) -> Result<String, AppError> {
    order(tx, &new.item).await?;
    Ok(shop)
}

#[derive(utoipa::OpenApi)]
#[openapi(paths(create))]
struct Api;

#[tokio::test]
async fn the_handler_runs_once_and_is_documented() {
    let answer = once("/orders/{shop}", post(create), &r1().path("/orders/s1")).await;
    let document = serde_json::to_value(Api::openapi()).expect("a document");

    assert_eq!(answer.text(), "s1");
    let operation = &document["paths"]["/orders/{shop}"]["post"];
    assert_eq!(operation["summary"], "Creates an order.");
    assert_eq!(operation["requestBody"]["required"], true, "{operation}");
}
