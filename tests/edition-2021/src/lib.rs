//! Annotated handlers in an application of the edition before.
//!
//! The compiler is the test. Editions differ in when a block's last temporaries are dropped and in what
//! `impl Trait` captures, and the expansion is made of tokens of both.

#![deny(warnings)]

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use idem_runtime::{idempotent, Idempotency, ScopeValue};
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

/// The handlers as axum takes them.
pub fn router(engine: Idempotency<Sqlite>) -> Router {
    Router::new()
        .route("/named/{tenant}", post(named))
        .route("/open", post(open))
        .route("/silent", post(silent))
        .with_state(engine)
}
