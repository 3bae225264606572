//! Arguments with the names that the expansion gives its own, and one with the handler's name.

use axum::Json;
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, Method, Uri, Version};
use axum::routing::post;
use idem_examples::reference::{AppError, NewOrder, TenantId};
use idem_runtime::{Execution, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[expect(clippy::too_many_arguments, reason = "each has a name to show")]
#[idempotent(scope = "handler, attempt, outcome.item, endpoint")]
async fn handler(
    held: &mut SqliteConnection,
    run: HeaderMap,
    guard: Method,
    call: Uri,
    handler: TenantId,
    lent: Version,
    tx: &Execution,
    Path(attempt): Path<u64>,
    Query(policy): Query<Vec<(String, String)>>,
    Json(outcome): Json<NewOrder>,
) -> Result<String, AppError> {
    let id = order(held, &outcome.item).await?;
    let same = run.contains_key("x-tenant")
        && guard == Method::POST
        && call.path() == "/9"
        && lent >= Version::HTTP_10;
    Ok(format!("{id} {same} {} {attempt} {} {}", handler.0, policy.len(), tx.key().is_some()))
}

#[tokio::test]
async fn no_name_is_taken() {
    let answer = once("/{attempt}", post(handler), &r1().path("/9?a=b")).await;

    assert_eq!(answer.text(), "1 true t1 9 1 true");
}
