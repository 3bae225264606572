//! An order API on SQLite whose requests may be repeated: `cargo run --example orders`.
//!
//! It prints three commands to try. The database is a file in a temporary directory, which is removed when
//! the program is stopped with Ctrl-C.

use std::error::Error;
use std::time::Duration;

use axum::extract::{FromRef, FromRequestParts, State};
use axum::http::{StatusCode, header::LOCATION, request::Parts};
use axum::response::{IntoResponse, Response};
use axum::{Form, Json, Router, routing::get, routing::post};
use idem_runtime::{Idempotency, ScopeValue, SqlitePools, idempotent};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::sqlite::{Sqlite, SqliteConnectOptions, SqliteConnection};
use tokio::net::TcpListener;

const TABLES: &str = "
    CREATE TABLE orders (
        id       INTEGER PRIMARY KEY,
        tenant   TEXT NOT NULL,
        item     TEXT NOT NULL,
        qty      INTEGER NOT NULL,
        order_no TEXT,
        UNIQUE (tenant, order_no)
    );
    CREATE TABLE payments (
        id       INTEGER PRIMARY KEY,
        tenant   TEXT NOT NULL,
        amount   INTEGER NOT NULL,
        currency TEXT NOT NULL
    );
";

// --- POST /orders ---------------------------------------------------------------------------------------

#[derive(Deserialize, Serialize)]
struct NewOrder {
    item: String,
    qty: u32,
    /// The client's own number for the order. It still stops a second order after the key has expired.
    order_no: Option<String>,
}

#[derive(Serialize)]
struct Order {
    id: i64,
    item: String,
    qty: u32,
}

/// The key, the row in `orders` and the stored answer are committed together, or none of them is.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn create_order(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    Json(new): Json<NewOrder>,
) -> Result<impl IntoResponse, AppError> {
    let insert = "INSERT INTO orders (tenant, item, qty, order_no) VALUES (?, ?, ?, ?) RETURNING id";
    let id: i64 = sqlx::query_scalar(insert)
        .bind(tenant.0)
        .bind(&new.item)
        .bind(new.qty)
        .bind(new.order_no)
        .fetch_one(tx)
        .await?;
    let order = Order { id, item: new.item, qty: new.qty };
    Ok((StatusCode::CREATED, [(LOCATION, format!("/orders/{id}"))], Json(order)))
}

// --- POST /payments: the same for a form ----------------------------------------------------------------

#[derive(Deserialize, Serialize)]
struct NewPayment {
    /// In the smallest unit of the currency.
    amount: i64,
    currency: String,
}

#[derive(Serialize)]
struct Payment {
    id: i64,
    amount: i64,
    currency: String,
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn create_payment(
    tx: &mut SqliteConnection,
    tenant: TenantId,
    Form(new): Form<NewPayment>,
) -> Result<impl IntoResponse, AppError> {
    let insert = "INSERT INTO payments (tenant, amount, currency) VALUES (?, ?, ?) RETURNING id";
    let id: i64 =
        sqlx::query_scalar(insert).bind(tenant.0).bind(new.amount).bind(&new.currency).fetch_one(tx).await?;
    let payment = Payment { id, amount: new.amount, currency: new.currency };
    Ok((StatusCode::CREATED, Json(payment)))
}

// --- GET /orders: an ordinary handler -------------------------------------------------------------------

async fn list_orders(State(app): State<App>, tenant: TenantId) -> Result<Json<Vec<Order>>, AppError> {
    let select = "SELECT id, item, qty FROM orders WHERE tenant = ? ORDER BY id";
    let rows: Vec<(i64, String, u32)> =
        sqlx::query_as(select).bind(tenant.0).fetch_all(app.pools.reader()).await?;
    Ok(Json(rows.into_iter().map(|(id, item, qty)| Order { id, item, qty }).collect()))
}

// --- What the handlers share ----------------------------------------------------------------------------

#[derive(Clone)]
struct App {
    pools: SqlitePools,
    idempotency: Idempotency<Sqlite>,
}

/// How `#[idempotent]` finds its engine.
impl FromRef<App> for Idempotency<Sqlite> {
    fn from_ref(app: &App) -> Self {
        app.idempotency.clone()
    }
}

/// Who is calling. A real service takes it from a verified token.
#[derive(ScopeValue)]
struct TenantId(String);

impl<S: Sync> FromRequestParts<S> for TenantId {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let tenant = parts.headers.get("x-tenant").and_then(|value| value.to_str().ok()).unwrap_or_default();
        if tenant.is_empty() {
            return Err((StatusCode::UNAUTHORIZED, "the header X-Tenant says who is calling\n"));
        }
        Ok(Self(tenant.to_owned()))
    }
}

enum AppError {
    OrderNoTaken,
    Database(sqlx::Error),
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        match error.as_database_error() {
            Some(cause) if cause.is_unique_violation() => Self::OrderNoTaken,
            _ => Self::Database(error),
        }
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let (status, message) = match self {
            Self::OrderNoTaken => (StatusCode::CONFLICT, "there is an order with this order_no"),
            Self::Database(error) => {
                eprintln!("{error}");
                (StatusCode::INTERNAL_SERVER_ERROR, "the database failed")
            }
        };
        (status, Json(json!({ "error": message }))).into_response()
    }
}

/// How long a shutdown waits for the handlers that still run.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::var("PORT").map_or(Ok(3000), |port| port.parse::<u16>())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;

    let directory = std::env::temp_dir().join(format!("orders-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let database = SqliteConnectOptions::new().filename(directory.join("orders.db")).create_if_missing(true);
    let pools = SqlitePools::connect_with(database).await?;
    sqlx::raw_sql(TABLES).execute(pools.writer()).await?;

    let idempotency = Idempotency::builder(pools.clone()).build()?;
    idempotency.migrate().await?;

    let app = Router::new()
        .route("/orders", get(list_orders).post(create_order))
        .route("/payments", post(create_payment))
        .with_state(App { pools, idempotency: idempotency.clone() });

    let curl = format!(
        r#"curl -i http://{address}/orders -H 'X-Tenant: t1' -H 'Idempotency-Key: "k-1"' -H 'Content-Type: application/json'"#
    );
    println!(
        r#"Listening on http://{address}. Try, in another terminal:

# first run
{curl} -d '{{"item":"tea","qty":1}}'
# retry: the same answer, and no second order
{curl} -d '{{"item":"tea","qty":1}}'
# the key reused for another order
{curl} -d '{{"item":"tea","qty":2}}'"#
    );

    let draining = idempotency.clone();
    let stop = async move {
        drop(tokio::signal::ctrl_c().await);
        // While the server stops: it waits for its clients without a limit, and for no handler whose client has left.
        tokio::spawn(async move { draining.drain(DRAIN_LIMIT).await });
    };
    axum::serve(listener, app).with_graceful_shutdown(stop).await?;

    idempotency.drain(DRAIN_LIMIT).await;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}
