//! Annotated handlers in an application that names the run time otherwise.
//!
//! The compiler is the test: here is no crate of the name `idem_runtime`, so whatever the attribute and the derives leave
//! out of `crate = …` is an error.

#![forbid(unsafe_code)]
#![deny(warnings)]

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::post;
use axum::{Extension, Json, Router};
use once::{Execution, Fingerprinter, Idempotency, Inert, Policy, ScopeValue, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::{Sqlite, SqliteConnection};

/// Who orders.
#[derive(Debug, ScopeValue)]
#[scope_value(crate = once)]
pub struct TenantId(String);

impl<S: Sync> FromRequestParts<S> for TenantId {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let tenant = parts.headers.get("x-tenant").and_then(|tenant| tenant.to_str().ok());
        tenant.map(|tenant| Self(tenant.to_owned())).ok_or(StatusCode::UNAUTHORIZED)
    }
}

/// What limits an order.
#[derive(Clone, Debug, Inert)]
#[inert(crate = ::once)]
pub struct Limits {
    most: i64,
}

/// What is ordered.
#[derive(Debug, Deserialize, Serialize)]
pub struct Order {
    item: String,
    qty: i64,
}

/// What the handlers share.
#[derive(Debug, Policy)]
#[policy(scope = "tenant,endpoint", in_progress = "wait 1s", record = "all", isolation = "serializable", crate = once)]
#[policy(syntax = "strict", key_format = "uuid", replay_headers = "x-total", required = false)]
pub struct Api {
    tenant: TenantId,
    #[fingerprint(skip)]
    limits: Extension<Limits>,
}

fn only_the_item(order: &Json<Order>, into: &mut Fingerprinter) {
    into.json("item", &order.item);
}

/// A handler with everything that an expansion names.
///
/// # Errors
/// 409 if the database refuses, or the limits do.
#[idempotent(policy = Api, in_progress = "reject", record = "success", ttl = "7d", inner = "order_inner", crate = once)]
pub async fn order(
    tx: &mut SqliteConnection,
    api: &Api,
    execution: &Execution,
    #[context] Extension(limits): Extension<Limits>,
    #[fingerprint(with = only_the_item)] Json(order): Json<Order>,
) -> Result<String, StatusCode> {
    if order.qty > limits.most.min(api.limits.most) {
        return Err(StatusCode::CONFLICT);
    }
    let inserted = sqlx::query("INSERT").bind(&api.tenant.0).bind(&order.item).execute(tx).await;
    inserted.map(|_| execution.scope().text()).map_err(|_| StatusCode::CONFLICT)
}

/// One with the body as it came, and a key inside.
#[idempotent(scope = "global", key = "order.item", inner = "received", crate = once)]
pub async fn receive(tx: &mut SqliteConnection, #[fingerprint(body)] Json(order): Json<Order>) -> StatusCode {
    let inserted = sqlx::query("INSERT").bind(order.item).execute(tx).await;
    if inserted.is_ok() { StatusCode::OK } else { StatusCode::CONFLICT }
}

/// The handlers as axum takes them.
pub fn router(engine: Idempotency<Sqlite>) -> Router {
    Router::new().route("/orders", post(order)).route("/events", post(receive)).with_state(engine)
}
