//! As many extractors as axum allows beside the transaction, in whose place stands the guard.

use axum::extract::{MatchedPath, OriginalUri, Path, Query, RawPathParams, RawQuery, State};
use axum::http::{HeaderMap, Method, Uri, Version};
use axum::routing::post;
use axum::{Extension, Json};
use idem_examples::reference::{AppError, NewOrder, Probe, TenantId};
use idem_runtime::idempotent;
use idem_tests::http::r1;
use idem_tests::shape::{once, order};
use sqlx::SqliteConnection;

#[expect(clippy::too_many_arguments, reason = "it is what this shows")]
#[idempotent(scope = "tenant,endpoint")]
async fn create(
    method: Method,
    uri: Uri,
    OriginalUri(original): OriginalUri,
    version: Version,
    headers: HeaderMap,
    tenant: TenantId,
    limit: Option<Extension<u64>>,
    Path(shop): Path<String>,
    parameters: RawPathParams,
    tx: &mut SqliteConnection,
    Query(query): Query<Vec<(String, String)>>,
    RawQuery(raw): RawQuery,
    matched: MatchedPath,
    State(probe): State<Probe>,
    both: (Method, Version),
    Json(new): Json<NewOrder>,
) -> Result<String, AppError> {
    probe.ran();
    order(tx, &new.item).await?;
    let _ = (uri, original, version, headers, limit, parameters, query, raw, both);
    Ok(format!("{method} {} {} {shop}", tenant.0, matched.as_str()))
}

#[tokio::test]
async fn fifteen_extractors_are_passed_on() {
    let answer = once("/{shop}", post(create), &r1().path("/s1?a=b")).await;

    assert_eq!(answer.text(), "POST t1 /{shop} s1");
}
