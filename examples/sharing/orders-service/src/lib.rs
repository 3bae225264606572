//! Orders: one handler for customers, one for other services, each under a policy that it shares with the other service.

use api_policy::{InternalApi, PublicApi};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use idem_runtime::{Execution, Idempotency, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::{Sqlite, SqliteConnection, SqlitePool};

/// The service's routes.
pub fn router(idempotency: Idempotency<Sqlite>) -> Router {
    Router::new()
        .route("/orders", post(create_order))
        .route("/restocks", post(restock))
        .with_state(idempotency)
}

/// Creates the service's table where it is missing.
///
/// # Errors
/// The database's.
pub async fn create_tables(pool: &SqlitePool) -> sqlx::Result<()> {
    let orders = "CREATE TABLE IF NOT EXISTS orders (
        id     INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        item   TEXT NOT NULL,
        qty    INTEGER NOT NULL
    )";
    sqlx::query(orders).execute(pool).await?;
    Ok(())
}

#[derive(Deserialize, Serialize)]
struct NewOrder {
    item: String,
    qty: i64,
}

#[derive(Serialize)]
struct Order {
    id: i64,
    tenant: String,
    /// The key under which the payment provider is asked to charge for it, however often this handler runs.
    charge_key: Option<String>,
}

/// For customers. The policy says who it is, so there is no second extractor of the tenant.
#[idempotent(policy = PublicApi)]
async fn create_order(
    tx: &mut SqliteConnection,
    api: &PublicApi,
    execution: &Execution,
    Json(new): Json<NewOrder>,
) -> Result<(StatusCode, Json<Order>), DatabaseError> {
    let id = insert(tx, api.tenant.as_str(), &new).await?;
    let order =
        Order { id, tenant: api.tenant.as_str().to_owned(), charge_key: execution.downstream_key("charge") };
    Ok((StatusCode::CREATED, Json(order)))
}

/// For the warehouse, as any service that is allowed to.
#[idempotent(policy = InternalApi)]
async fn restock(
    tx: &mut SqliteConnection,
    api: &InternalApi,
    Json(new): Json<NewOrder>,
) -> Result<StatusCode, DatabaseError> {
    insert(tx, api.caller.as_str(), &new).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn insert(connection: &mut SqliteConnection, tenant: &str, new: &NewOrder) -> sqlx::Result<i64> {
    let insert = "INSERT INTO orders (tenant, item, qty) VALUES (?, ?, ?) RETURNING id";
    sqlx::query_scalar(insert).bind(tenant).bind(&new.item).bind(new.qty).fetch_one(connection).await
}

/// The database failed: 500, and the key is free for a retry.
struct DatabaseError(sqlx::Error);

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for DatabaseError {
    fn into_response(self) -> Response {
        eprintln!("{}", self.0);
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}
