use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use idem_runtime::idempotent;
use serde::{Deserialize, Serialize};
use serde_json::{Value as JsonValue, json};
use sqlx::Transaction;

use super::database::{Database, Value};
use super::error::AppError;
use super::probe::Probe;
use super::tenant::TenantId;

/// The query of `POST /accounts/{id}/charges`.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ChargeOptions {
    /// 1 to answer without charging; 0 if not given.
    #[serde(default)]
    dry: u8,
}

/// The body of `POST /accounts/{id}/charges`.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct NewCharge {
    /// In the smallest unit of the currency.
    amount: i64,
}

/// `POST /accounts/{id}/charges`: input from the path, the query and the body.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn charge<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Path(account): Path<i64>,
    Query(options): Query<ChargeOptions>,
    Json(charge): Json<NewCharge>,
) -> Result<(StatusCode, Json<JsonValue>), AppError> {
    probe.ran();
    if options.dry == 0 {
        let sql = "INSERT INTO charges (tenant, account, amount) VALUES ($1, $2, $3)";
        let values = [Value::Text(&tenant.0), Value::Int(account), Value::Int(charge.amount)];
        DB::execute(&mut *tx, sql, &values).await?;
    }
    let answer = json!({ "account": account, "amount": charge.amount, "dry": options.dry != 0 });
    Ok((StatusCode::CREATED, Json(answer)))
}

/// `PUT /counters/{id}`: a PUT that adds, so repeating it is not harmless.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn count<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Path(id): Path<i64>,
) -> Result<Json<JsonValue>, AppError> {
    probe.ran();
    let sql = "INSERT INTO counters (tenant, id, n) VALUES ($1, $2, 1)
               ON CONFLICT (tenant, id) DO UPDATE SET n = counters.n + 1 RETURNING n";
    let n = DB::integer(&mut *tx, sql, &[Value::Text(&tenant.0), Value::Int(id)]).await?;
    Ok(Json(json!({ "n": n })))
}
