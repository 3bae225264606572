use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use idem_runtime::{KeepWrites, idempotent};
use serde_json::{Value as JsonValue, json};
use sqlx::Transaction;

use super::database::{Database, Value};
use super::error::AppError;
use super::orders::{NewOrder, insert_order};
use super::probe::Probe;
use super::tenant::TenantId;

/// `POST /declined`: an answer of 402 that must leave its audit row behind, and says so.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn decline<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, KeepWrites, Json<JsonValue>), AppError> {
    probe.ran();
    let sql = "INSERT INTO audit (tenant, note) VALUES ($1, $2)";
    DB::execute(&mut *tx, sql, &[Value::Text(&tenant.0), Value::Text(&order.item)]).await?;
    Ok((StatusCode::PAYMENT_REQUIRED, KeepWrites, Json(json!({ "reason": "card_declined" }))))
}

/// `POST /err`: the order is written and then refused, so it is rolled back.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn refuse<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    Err(AppError::Refused("out_of_stock"))
}

/// `POST /boom`: a 500 that the handler decided on, as an answer and not as an `Err`.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn fail<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<JsonValue>), AppError> {
    probe.ran();
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    Ok((StatusCode::INTERNAL_SERVER_ERROR, Json(json!({ "error": "boom" }))))
}

/// `POST /panic`.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn panic<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> impl IntoResponse {
    probe.ran();
    let inserted = insert_order::<DB>(&mut *tx, &tenant, &order).await;
    panic!("the handler panics after {inserted:?}");
    #[expect(unreachable_code, reason = "gives the handler a return type")]
    StatusCode::CREATED
}
