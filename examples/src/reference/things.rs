use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use idem_runtime::idempotent;
use serde::{Deserialize, Serialize};
use serde_json::{Value as JsonValue, json};
use sqlx::Transaction;

use super::database::{Database, Value};
use super::error::AppError;
use super::probe::Probe;
use super::tenant::TenantId;

/// The body of `POST /things` and `PATCH /things`.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Thing {
    name: String,
}

/// `POST /things`.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn create_thing<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(thing): Json<Thing>,
) -> Result<(StatusCode, Json<JsonValue>), AppError> {
    probe.ran();
    let sql = "INSERT INTO things (tenant, name) VALUES ($1, $2) RETURNING id";
    let id = DB::integer(&mut *tx, sql, &[Value::Text(&tenant.0), Value::Text(&thing.name)]).await?;
    Ok((StatusCode::CREATED, Json(json!({ "id": id }))))
}

/// `PATCH /things`: gives all of the tenant's things one more letter, so repeating it shows.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn rename_things<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(thing): Json<Thing>,
) -> Result<Json<JsonValue>, AppError> {
    probe.ran();
    let sql = "UPDATE things SET name = name || $2 WHERE tenant = $1";
    let renamed = DB::execute(&mut *tx, sql, &[Value::Text(&tenant.0), Value::Text(&thing.name)]).await?;
    Ok(Json(json!({ "renamed": renamed })))
}

/// `GET /things`: the attribute on a safe method, where the key is ignored and nothing is stored.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn count_things<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
) -> Result<Json<JsonValue>, AppError> {
    probe.ran();
    let sql = "SELECT count(*) FROM things WHERE tenant = $1";
    let count = DB::integer(&mut *tx, sql, &[Value::Text(&tenant.0)]).await?;
    Ok(Json(json!({ "things": count })))
}

/// `DELETE /things/{id}`: 204 the first time, 404 when it is gone.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn delete_thing<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Path(id): Path<i64>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    let sql = "DELETE FROM things WHERE tenant = $1 AND id = $2";
    let deleted = DB::execute(&mut *tx, sql, &[Value::Text(&tenant.0), Value::Int(id)]).await?;
    if deleted == 0 { Err(AppError::NotFound) } else { Ok(StatusCode::NO_CONTENT) }
}
