use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use idem_runtime::idempotent;
use sqlx::Transaction;

use super::database::Database;
use super::error::AppError;
use super::orders::{NewOrder, insert_order};
use super::probe::Probe;
use super::tenant::TenantId;
use axum::Json;

/// `POST /empty`: an answer without a body.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn answer_nothing<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /bytes`: takes any bytes, answers every byte there is.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn answer_bytes<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    body: Bytes,
) -> Result<([(HeaderName, &'static str); 1], Vec<u8>), AppError> {
    probe.ran();
    let order = NewOrder { item: format!("{} bytes", body.len()), qty: 1, order_no: None };
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], (0..=u8::MAX).collect()))
}
