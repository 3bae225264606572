//! What lints say of annotated handlers: what they say of the handler as it is written, and nothing of the expansion.
//!
//! The compiler is the test: `cargo clippy --all-targets`, with every `expect` fulfilled. More shapes of handlers, under
//! the same lints, are in `pass.rs`.

#![deny(warnings, missing_docs, unused_qualifications, clippy::pedantic, clippy::nursery)]
#![deny(rust_2018_idioms, rust_2024_compatibility, missing_debug_implementations)]
#![forbid(unsafe_code)]
// It asks for what `unreachable_pub` refuses.
#![allow(clippy::redundant_pub_crate)]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use axum::extract::{Extension, FromRef, FromRequestParts, Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use idem_runtime::{Idempotency, Inert, Policy, ScopeValue, idempotent};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgTransaction, Postgres, Sqlite, SqliteConnection};

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    item: String,
    qty: u64,
}

#[derive(Clone, Debug, ScopeValue)]
struct TenantId(String);

impl<S: Send + Sync> FromRequestParts<S> for TenantId {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let tenant = parts.headers.get("x-tenant").and_then(|tenant| tenant.to_str().ok());
        tenant.map(|tenant| Self(tenant.to_owned())).ok_or(StatusCode::UNAUTHORIZED)
    }
}

/// An error that keeps the database's.
#[derive(Debug)]
struct AppError(sqlx::Error);

type AppResult<T> = Result<T, AppError>;

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for AppError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> axum::response::Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.to_string()).into_response()
    }
}

#[derive(Clone, Debug, Inert)]
struct Settings {
    currencies: BTreeMap<String, u8>,
    limit: Option<u64>,
}

#[derive(Clone)]
struct App {
    postgres: Idempotency<Postgres>,
    sqlite: Idempotency<Sqlite>,
    settings: Settings,
}

impl FromRef<App> for Idempotency<Postgres> {
    fn from_ref(app: &App) -> Self {
        app.postgres.clone()
    }
}

impl FromRef<App> for Idempotency<Sqlite> {
    fn from_ref(app: &App) -> Self {
        app.sqlite.clone()
    }
}

impl FromRef<App> for Settings {
    fn from_ref(app: &App) -> Self {
        app.settings.clone()
    }
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn the_usual(
    tx: &mut PgConnection,
    State(settings): State<Settings>,
    tenant: TenantId,
    Json(order): Json<Order>,
) -> AppResult<(StatusCode, Json<Order>)> {
    if settings.currencies.is_empty() || settings.limit > Some(order.qty) {
        return Ok((StatusCode::CONFLICT, Json(order)));
    }
    sqlx::query("INSERT").bind(&order.item).bind(&tenant.0).execute(&mut *tx).await?;
    Ok((StatusCode::CREATED, Json(order)))
}

#[idempotent(scope = "_tenant, shelf, endpoint")]
async fn patterns(
    tx: &mut PgTransaction<'_>,
    /// Only the scope reads it.
    _tenant: TenantId,
    Path((shelf, mut place)): Path<(String, u64)>,
    #[fingerprint(skip)] Query(trace): Query<BTreeMap<String, String>>,
    #[context] State(_app): State<App>,
    #[cfg(not(windows))] Extension(mut _limit): Extension<u64>,
    Json(ref order @ Order { ref item, .. }): Json<Order>,
) -> impl IntoResponse {
    place += order.qty;
    let inserted = sqlx::query("INSERT").bind(item).execute(&mut **tx).await;
    (StatusCode::OK, format!("{place} {trace:?} {}", inserted.is_ok()))
}

#[idempotent(scope = "endpoint")]
async fn awaits_nothing(_tx: &mut SqliteConnection) -> Json<Order> {
    unreachable!()
}

/// The name is in a `where` clause and in the outer function, which must count as the author's.
#[expect(dead_code)]
#[idempotent(scope = "endpoint")]
async fn never_used<T>(tx: &mut PgConnection, Json(list): Json<Vec<T>>) -> AppResult<()>
where
    T: Serialize + DeserializeOwned,
{
    sqlx::query("INSERT").bind(list.len().to_string()).execute(tx).await?;
    Ok(())
}

#[expect(dead_code)]
#[idempotent(scope = "endpoint")]
async fn never_used_and_silent(tx: &mut PgConnection) {
    drop(sqlx::query("INSERT").execute(tx).await);
}

/// Both the handler and the function beside it.
#[expect(dead_code)]
#[idempotent(scope = "endpoint", inner = "never_used_inner")]
async fn never_used_nor_its_inner(tx: &mut PgConnection) {
    drop(sqlx::query("INSERT").execute(tx).await);
}

#[expect(dead_code)]
#[derive(Policy)]
#[policy(scope = "endpoint")]
struct NeverUsed;

/// What is unread in the handler is unread, but not what the scope reads.
#[idempotent(scope = "shelf,endpoint")]
async fn unread(
    tx: &mut SqliteConnection,
    Path((shelf, _)): Path<(String, u64)>,
    #[context]
    #[expect(unused_variables)]
    tenant: TenantId,
    #[expect(unused_mut)] mut trace: HeaderMap,
    body: String,
) -> AppResult<String> {
    #[expect(unused_variables)]
    let number = trace.len();
    #[expect(clippy::manual_string_new)]
    let nothing = "".to_owned();
    sqlx::query("INSERT").bind(nothing).execute(tx).await?;
    Ok(body)
}

#[derive(Debug, Inert)]
#[inert(crate = idem_runtime)]
#[expect(dead_code)]
enum Derived<'a, T: fmt::Debug, const N: usize> {
    Unit,
    Tuple(Cow<'static, str>, [T; N], Option<std::sync::Arc<Self>>),
    Named {
        name: &'a str,
        #[inert(trusted)]
        pool: sqlx::PgPool,
    },
}

#[derive(Debug, ScopeValue)]
#[scope_value(crate = idem_runtime)]
struct Labelled<T> {
    value: T,
}

fn router() -> Router<App> {
    Router::new()
        .route("/the_usual", post(the_usual))
        .route("/patterns", post(patterns))
        .route("/awaits_nothing", post(awaits_nothing))
        .route("/unread", post(unread))
}

#[test]
fn axum_takes_every_handler() {
    assert!(router().has_routes());
}

#[test]
fn a_derived_scope_value_is_that_of_its_field() {
    assert_eq!(TenantId("t1".to_owned()).scope_value(), "t1");
    assert_eq!(Labelled { value: 7_u64 }.scope_value(), "7");
}

#[test]
fn a_derived_inert_asks_each_field() {
    fn is_inert<T: Inert>() {}

    is_inert::<Settings>();
    is_inert::<Derived<'_, u8, 2>>();
}
