//! What an annotated handler may look like, under the strictest lints.
//!
//! The compiler is the test: `cargo clippy --all-targets` for the lints, and `post` for each handler's type.

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
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use idem_runtime::{Idempotency, Inert, ScopeValue, idempotent};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sqlx::{Connection, PgConnection, PgTransaction, Postgres, Sqlite, SqliteConnection, Transaction};

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    item: String,
    qty: u64,
}

#[derive(Clone, Debug, ScopeValue)]
struct TenantId(String);

impl TenantId {
    fn name(&self) -> &str {
        &self.0
    }
}

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
    tenant: TenantId,
    Json(order): Json<Order>,
) -> AppResult<(StatusCode, Json<Order>)> {
    sqlx::query("INSERT").bind(&order.item).bind(&tenant.0).execute(&mut *tx).await?;
    Ok((StatusCode::CREATED, Json(order)))
}

#[idempotent(
    scope = "account = tenant.name(), order.item, path.1, endpoint",
    record = "all",
    ttl = "1h",
    allow(short_ttl)
)]
async fn parts_of_arguments(
    State(settings): State<Settings>,
    _headers: HeaderMap,
    Path(path): Path<(String, u64)>,
    tx: &mut SqliteConnection,
    #[context] tenant: TenantId,
    Json(order): Json<Order>,
) -> AppResult<StatusCode> {
    let mut savepoint = tx.begin().await?;
    let currency = settings.currencies.get(&path.0).copied();
    sqlx::query("INSERT").bind(&order.item).bind(currency).execute(&mut *savepoint).await?;
    savepoint.rollback().await?;
    Ok(if settings.limit > Some(order.qty) { StatusCode::CREATED } else { StatusCode::CONFLICT })
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
async fn absent_and_lint_attributes(
    tx: &mut PgConnection,
    #[cfg(any())] Json(never): Json<Nothing>,
    #[cfg_attr(any(), allow(unused_variables))]
    #[expect(unused_variables)]
    body: String,
) -> AppResult<()> {
    sqlx::query("INSERT").execute(tx).await?;
    Ok(())
}

#[idempotent(scope = "global", record = "success")]
async fn generic<T: Serialize + DeserializeOwned, U, const N: usize>(
    tx: &mut Transaction<'_, Sqlite>,
    Query(filter): Query<U>,
    Json(list): Json<Vec<T>>,
) -> AppResult<Json<Vec<T>>>
where
    U: Serialize + DeserializeOwned + fmt::Debug,
{
    sqlx::query("INSERT").bind(format!("{filter:?} {N}")).execute(&mut **tx).await?;
    Ok(Json(list))
}

#[idempotent(scope = "endpoint")]
async fn any_database<DB: idem_runtime::Store>(tx: &mut Transaction<'_, DB>) -> AppResult<impl IntoResponse> {
    tx.begin().await?.rollback().await?;
    Ok("done")
}

#[idempotent(scope = "endpoint")]
async fn lifetimes<'a, 'b>(
    tx: &'a mut Transaction<'b, Sqlite>,
    Path(shelf): Path<Cow<'_, str>>,
    Json(note): Json<Cow<'a, str>>,
) -> String
where
    'b: 'a,
{
    let inserted = sqlx::query("INSERT").execute(&mut **tx).await;
    format!("{shelf} {note} {}", inserted.is_ok())
}

#[idempotent(scope = "type, endpoint")]
async fn names_of_the_expansion(
    tx: &mut PgConnection,
    Path(r#type): Path<String>,
    guard: HeaderMap,
    call: Method,
    Json(attempt): Json<Order>,
) {
    let run = sqlx::query("INSERT").bind(attempt.item).bind(r#type).execute(tx).await;
    let outcome = run.is_ok() && guard.is_empty() && call == Method::POST;
    drop(outcome.to_string());
}

#[idempotent(scope = "of_its_own_name, endpoint")]
async fn of_its_own_name(tx: &mut PgConnection, of_its_own_name: TenantId) -> AppResult<String> {
    sqlx::query("INSERT").execute(tx).await?;
    Ok(of_its_own_name.0)
}

#[idempotent(scope = "endpoint")]
async fn never_returns(_tx: &mut PgConnection) -> Json<Order> {
    unreachable!()
}

#[idempotent(scope = "endpoint")]
async fn only_returns(tx: &mut PgConnection, mut attempts: String) -> Result<String, (StatusCode, String)> {
    loop {
        let inserted = sqlx::query("INSERT").execute(&mut *tx).await;
        if let Err(error) = inserted {
            return Err((StatusCode::CONFLICT, error.to_string()));
        }
        if attempts.pop().is_none() {
            return Ok(attempts);
        }
    }
}

#[idempotent(scope = "tenant,endpoint")]
#[axum::debug_handler(state = App)]
async fn above_debug_handler(tx: &mut PgConnection, tenant: TenantId, body: String) -> AppResult<String> {
    sqlx::query("INSERT").bind(&tenant.0).execute(tx).await?;
    Ok(body)
}

#[tracing::instrument(skip_all, fields(item = %order.item))]
#[idempotent(scope = "endpoint")]
async fn below_instrument(tx: &mut PgConnection, Json(order): Json<Order>) -> AppResult<String> {
    sqlx::query("INSERT").bind(order.qty.to_string()).execute(tx).await?;
    Ok(order.item)
}

mod shadowed {
    #![expect(dead_code)]

    struct Result;
    struct Option;
    struct Some;
    struct None;
    struct Ok;
    struct Err;
    struct String;
    struct Vec;
    trait Send {}
    mod core {}
    mod std {}
    mod axum {}
    mod sqlx {}
    mod idem_runtime {}

    #[::idem_runtime::idempotent(scope = "tenant, endpoint")]
    pub(super) async fn names(
        tx: &mut ::sqlx::PgConnection,
        tenant: super::TenantId,
        ::axum::Json(order): ::axum::Json<super::Order>,
    ) -> super::AppResult<::axum::Json<super::Order>> {
        ::sqlx::query("INSERT").execute(tx).await?;
        super::AppResult::Ok(::axum::Json(order))
    }
}

macro_rules! handlers {
    ($(
        $name:ident($tx:ty, $pat:pat, $ty:ty, $scope:literal) $body:block
    )*) => {
        $(
            #[idempotent(scope = $scope, crate = idem_runtime)]
            async fn $name(tx: $tx, tenant: TenantId, $pat: $ty) -> AppResult<StatusCode> {
                sqlx::query("INSERT").execute(tx).await?;
                Ok($body)
            }
        )*
    };
    (as written: $item:item) => {
        #[idempotent(scope = "endpoint")]
        $item
    };
    (body $name:ident($tx:ident: $ty:ty) $body:block) => {
        #[idempotent(scope = "endpoint", crate = ::idem_runtime)]
        async fn $name($tx: $ty) -> AppResult<StatusCode> $body
    };
}

handlers! {
    made_by_a_macro(&mut PgConnection, Json(order), Json<Order>, "tenant,endpoint") {
        drop(order);
        StatusCode::OK
    }
}

handlers! {
    as written:
    async fn made_as_an_item(tx: &mut PgConnection) -> AppResult<()> {
        sqlx::query("INSERT").execute(tx).await?;
        Ok(())
    }
}

handlers! {
    body made_with_a_body(tx: &mut PgConnection) {
        sqlx::query("INSERT").execute(tx).await?;
        Ok(StatusCode::OK)
    }
}

struct Api;

impl Api {
    #[idempotent(scope = "endpoint")]
    async fn associated(tx: &mut PgConnection, Json(order): Json<Order>) -> AppResult<()> {
        sqlx::query("INSERT").bind(order.item).execute(tx).await?;
        Ok(())
    }
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
        .route("/parts_of_arguments", post(parts_of_arguments))
        .route("/patterns", post(patterns))
        .route("/absent_and_lint_attributes", post(absent_and_lint_attributes))
        .route("/generic", post(generic::<Order, BTreeMap<String, String>, 3>))
        .route("/any_database", post(any_database::<Postgres>).put(any_database::<Sqlite>))
        .route("/lifetimes", post(lifetimes))
        .route("/names_of_the_expansion", post(names_of_the_expansion))
        .route("/of_its_own_name", post(of_its_own_name))
        .route("/never_returns", post(never_returns))
        .route("/only_returns", post(only_returns))
        .route("/above_debug_handler", post(above_debug_handler))
        .route("/below_instrument", post(below_instrument))
        .route("/shadowed", post(shadowed::names))
        .route("/made_by_a_macro", post(made_by_a_macro))
        .route("/made_as_an_item", post(made_as_an_item))
        .route("/made_with_a_body", post(made_with_a_body))
        .route("/associated", post(Api::associated))
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
