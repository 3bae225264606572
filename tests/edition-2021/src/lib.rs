//! Annotated handlers in an application of the edition before.
//!
//! The compiler is the test. Editions differ in when a block's last temporaries are dropped and in what
//! `impl Trait` captures, and the expansion is made of tokens of both.

#![deny(warnings)]

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use idem_runtime::{idempotent, Execution, Fingerprinter, Idempotency, Policy, ScopeValue};
use serde::{Deserialize, Serialize};
use sqlx::{Connection, Sqlite, SqliteConnection, SqliteTransaction, Transaction};

/// What is ordered.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    item: String,
}

/// Who orders.
#[derive(Debug, Clone, Serialize, Deserialize, ScopeValue)]
pub struct TenantId(String);

/// An answer that names its types.
///
/// # Errors
/// 409 if the database refuses.
#[idempotent(scope = "tenant,endpoint")]
pub async fn named(
    tx: &mut SqliteConnection,
    Path(tenant): Path<TenantId>,
    Json(order): Json<Order>,
) -> Result<(StatusCode, Json<Order>), StatusCode> {
    let mut savepoint = tx.begin().await.map_err(|_| StatusCode::CONFLICT)?;
    sqlx::query("INSERT")
        .bind(&order.item)
        .execute(&mut *savepoint)
        .await
        .map_err(|_| StatusCode::CONFLICT)?;
    savepoint.rollback().await.map_err(|_| StatusCode::CONFLICT)?;
    Ok((StatusCode::CREATED, Json(order)))
}

/// An answer that does not, and borrows nothing.
#[idempotent(scope = "endpoint")]
pub async fn open(tx: &mut SqliteTransaction<'_>, order: String) -> impl IntoResponse {
    let inserted = sqlx::query("INSERT").bind(&order).execute(&mut **tx).await;
    (StatusCode::CREATED, inserted.is_ok().to_string())
}

/// No answer but a status.
#[idempotent(scope = "global", record = "all")]
pub async fn silent(tx: &mut Transaction<'_, Sqlite>) {
    drop(sqlx::query("INSERT").execute(&mut **tx).await);
}

/// What the handlers share.
#[derive(Debug, Policy)]
#[policy(scope = "caller,endpoint", ttl = "72h", in_progress = "wait 1s")]
pub struct Api {
    caller: Caller,
}

/// Who calls.
#[derive(Debug, ScopeValue)]
pub struct Caller(String);

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let caller = parts.headers.get("x-caller").and_then(|caller| caller.to_str().ok());
        caller.map(|caller| Self(caller.to_owned())).ok_or(StatusCode::UNAUTHORIZED)
    }
}

fn only_the_item(order: &Json<Order>, into: &mut Fingerprinter) {
    into.json("item", &order.item);
}

/// A shared policy, lent with the run, and an argument that a function compares.
///
/// # Errors
/// 409 if the database refuses.
#[idempotent(policy = Api, endpoint = "orders.create", required = false)]
pub async fn shared(
    api: &Api,
    tx: &mut SqliteConnection,
    execution: &Execution,
    #[fingerprint(with = only_the_item)] Json(Order { item }): Json<Order>,
) -> Result<impl IntoResponse, StatusCode> {
    let inserted = sqlx::query("INSERT").bind(item).bind(&api.caller.0).execute(tx).await;
    inserted.map(|_| execution.downstream_key("charge").unwrap_or_default()).map_err(|_| StatusCode::CONFLICT)
}

impl Order {
    /// A body as it came, with the key inside, in a function that says `Self`.
    #[idempotent(scope = "global", key = "order.item", inner = "Self::insert")]
    pub async fn receive(
        tx: &mut SqliteConnection,
        #[fingerprint(body)] Json(order): Json<Self>,
    ) -> impl IntoResponse {
        let inserted = sqlx::query("INSERT").bind(order.item).execute(tx).await;
        (StatusCode::OK, inserted.is_ok().to_string())
    }
}

/// The handlers as axum takes them.
pub fn router(engine: Idempotency<Sqlite>) -> Router {
    Router::new()
        .route("/named/{tenant}", post(named))
        .route("/open", post(open))
        .route("/silent", post(silent))
        .route("/shared", post(shared))
        .route("/receive", post(Order::receive))
        .with_state(engine)
}
