use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use idem_runtime::idempotent;
use serde::{Deserialize, Serialize};
use serde_json::{Value as JsonValue, json};
use sqlx::Transaction;

use super::app::App;
use super::database::{Database, Value};
use super::error::AppError;
use super::probe::Probe;
use super::tenant::TenantId;

/// What `POST /orders` takes: `{"item":"tea","qty":1}`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct NewOrder {
    /// What is ordered.
    pub item: String,
    /// How many.
    pub qty: i64,
    /// The caller's own number for the order, unique per tenant: the business constraint behind the key,
    /// which still holds when the key has expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_no: Option<String>,
}

/// What an order reads as: `{"id":1,"item":"tea","qty":1}`.
#[derive(Debug, Serialize)]
pub struct Order {
    /// Its row's number.
    pub id: i64,
    /// What is ordered.
    pub item: String,
    /// How many.
    pub qty: i64,
}

/// An answer that created an order.
type Created = (StatusCode, [(HeaderName, String); 1], Json<Order>);

/// Inserts an order.
///
/// # Errors
/// [`AppError::OrderNumberTaken`] if the tenant has an order of that number, else the database's error.
pub async fn insert_order<DB: Database>(
    connection: &mut DB::Connection,
    tenant: &TenantId,
    order: &NewOrder,
) -> Result<Order, AppError> {
    let sql = "INSERT INTO orders (tenant, item, qty, order_no) VALUES ($1, $2, $3, $4) RETURNING id";
    let values = [
        Value::Text(&tenant.0),
        Value::Text(&order.item),
        Value::Int(order.qty),
        Value::Maybe(order.order_no.as_deref()),
    ];
    match DB::integer(connection, sql, &values).await {
        Ok(Some(id)) => Ok(Order { id, item: order.item.clone(), qty: order.qty }),
        Ok(None) => Err(sqlx::Error::RowNotFound.into()),
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => Err(AppError::OrderNumberTaken),
        Err(error) => Err(error.into()),
    }
}

fn created(order: Order) -> Created {
    (StatusCode::CREATED, [(header::LOCATION, format!("/orders/{}", order.id))], Json(order))
}

/// `POST /orders`.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn create_order<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<Created, AppError> {
    probe.ran();
    Ok(created(insert_order::<DB>(&mut *tx, &tenant, &order).await?))
}

/// `POST /slow`: the gate stands between the write and the answer.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn create_order_slowly<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<Created, AppError> {
    probe.ran();
    let order = insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    probe.gate.pass().await;
    Ok(created(order))
}

/// `POST /refunds`.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
pub(super) async fn create_refund<DB: Database>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, Json<JsonValue>), AppError> {
    probe.ran();
    let sql = "INSERT INTO refunds (tenant, item) VALUES ($1, $2) RETURNING id";
    let id = DB::integer(&mut *tx, sql, &[Value::Text(&tenant.0), Value::Text(&order.item)]).await?;
    Ok((StatusCode::CREATED, Json(json!({ "refund": id, "item": order.item }))))
}

/// `POST /plain`: the same work as `POST /orders`, without the attribute.
#[expect(
    clippy::disallowed_methods,
    reason = "every error of a statement has left the handler before COMMIT"
)]
pub(super) async fn create_order_unprotected<DB: Database>(
    tenant: TenantId,
    State(app): State<App<DB>>,
    Json(order): Json<NewOrder>,
) -> Result<Created, AppError> {
    app.probe.ran();
    let mut tx = app.writer.begin().await?;
    let order = insert_order::<DB>(&mut tx, &tenant, &order).await?;
    tx.commit().await?;
    Ok(created(order))
}

/// `GET /orders`.
pub(super) async fn list_orders<DB: Database>(
    tenant: TenantId,
    State(app): State<App<DB>>,
) -> Result<Json<Vec<Order>>, AppError> {
    // In a transaction, so that a pooler before the database keeps to one server.
    let mut tx = app.reader.begin().await?;
    Ok(Json(DB::orders(&mut tx, &tenant.0).await?))
}
