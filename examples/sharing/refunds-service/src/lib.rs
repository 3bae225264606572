//! Refunds, under the policy that the orders have, but remembered for longer.

use api_policy::PublicApi;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use idem_runtime::{Idempotency, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::{Sqlite, SqliteConnection, SqlitePool};

/// The service's routes.
pub fn router(idempotency: Idempotency<Sqlite>) -> Router {
    Router::new().route("/refunds", post(create_refund)).with_state(idempotency)
}

/// Creates the service's table where it is missing.
///
/// # Errors
/// The database's.
pub async fn create_tables(pool: &SqlitePool) -> sqlx::Result<()> {
    let repayments = "CREATE TABLE IF NOT EXISTS repayments (
        id       INTEGER PRIMARY KEY,
        tenant   TEXT NOT NULL,
        order_id INTEGER NOT NULL,
        cents    INTEGER NOT NULL
    )";
    sqlx::query(repayments).execute(pool).await?;
    Ok(())
}

#[derive(Deserialize, Serialize)]
struct NewRefund {
    order_id: i64,
    cents: i64,
}

#[derive(Serialize)]
struct Refund {
    id: i64,
    cents: i64,
}

/// The bank's clients retry for weeks, so this one is remembered for longer than the policy says. Scope, header and
/// all else stay as they are.
#[idempotent(policy = PublicApi, ttl = "30d")]
async fn create_refund(
    tx: &mut SqliteConnection,
    PublicApi { tenant }: &PublicApi,
    Json(new): Json<NewRefund>,
) -> Result<(StatusCode, Json<Refund>), RefundError> {
    if new.cents <= 0 {
        return Err(RefundError::Nothing);
    }
    let insert = "INSERT INTO repayments (tenant, order_id, cents) VALUES (?, ?, ?) RETURNING id";
    let insert = sqlx::query_scalar(insert).bind(tenant.as_str()).bind(new.order_id).bind(new.cents);
    let id = insert.fetch_one(tx).await?;
    Ok((StatusCode::CREATED, Json(Refund { id, cents: new.cents })))
}

enum RefundError {
    /// Decided, so it is what every retry is answered as well: 422.
    Nothing,
    /// The database failed: 500, and the key is free for a retry.
    Database(sqlx::Error),
}

impl From<sqlx::Error> for RefundError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl IntoResponse for RefundError {
    fn into_response(self) -> Response {
        match self {
            Self::Nothing => StatusCode::UNPROCESSABLE_ENTITY.into_response(),
            Self::Database(error) => {
                eprintln!("{error}");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}
