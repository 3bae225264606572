//! A trial on an application whose state is an `Arc`, with repository functions that take a connection.
//!
//! The signature is of the shape found in sheroz/axum-rest-api-sample: a version and claims, the shared state, a
//! payload, and a connection out of the state's pool for the repository. Five lines of the handler change, each marked
//! with its number. Once for the application come the engine in the state and `ScopeValue` for the claims.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::AppError;
use idem_runtime::{Idempotency, ScopeValue, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::http::r1;
use idem_tests::shape::twice;
use serde::{Deserialize, Serialize};
use sqlx::{Sqlite, SqliteConnection, SqlitePool};

type SharedState = Arc<AppState>;

struct AppState {
    pool: SqlitePool,
    idempotency: Idempotency<Sqlite>,
}

impl FromRef<AppState> for Idempotency<Sqlite> {
    fn from_ref(state: &AppState) -> Self {
        state.idempotency.clone()
    }
}

struct ApiVersion(u8);

impl<S: Sync> FromRequestParts<S> for ApiVersion {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        if parts.uri.path().starts_with("/v1/") { Ok(Self(1)) } else { Err(StatusCode::NOT_FOUND) }
    }
}

struct Claims {
    subject: String,
}

impl Claims {
    fn validate(&self) -> Result<(), AppError> {
        if self.subject == "mallory" { Err(AppError::Refused("not you")) } else { Ok(()) }
    }
}

impl ScopeValue for Claims {
    fn scope_value(&self) -> Cow<'_, str> {
        self.subject.as_str().into()
    }
}

impl FromRequestParts<SharedState> for Claims {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &SharedState) -> Result<Self, StatusCode> {
        let subject = parts.headers.get("authorization").and_then(|subject| subject.to_str().ok());
        subject.map(|subject| Self { subject: subject.to_owned() }).ok_or(StatusCode::UNAUTHORIZED)
    }
}

#[derive(Deserialize, Serialize)]
struct Account {
    owner: String,
    cents: i64,
}

mod accounts {
    use super::{Account, SqliteConnection};

    pub(super) async fn add(account: Account, connection: &mut SqliteConnection) -> sqlx::Result<Account> {
        let insert = "INSERT INTO orders (tenant, item, qty) VALUES ('accounts', ?, ?)";
        sqlx::query(insert).bind(&account.owner).bind(account.cents).execute(connection).await?;
        Ok(account)
    }
}

async fn add_account_before(
    api_version: ApiVersion,
    claims: Claims,
    State(state): State<SharedState>,
    Json(account): Json<Account>,
) -> Result<impl IntoResponse, AppError> {
    claims.validate()?;
    let mut connection = state.pool.acquire().await?;
    let account = accounts::add(account, &mut connection).await?;
    Ok((StatusCode::CREATED, [("x-version", api_version.0.to_string())], Json(account)))
}

#[idempotent(scope = "claims,endpoint")] // 1
async fn add_account(
    #[context] api_version: ApiVersion, // 2
    claims: Claims,
    tx: &mut SqliteConnection, // 3
    Json(account): Json<Account>,
) -> Result<impl IntoResponse, AppError> {
    claims.validate()?;
    // 4: the connection that was taken here
    let account = accounts::add(account, tx).await?; // 5
    Ok((StatusCode::CREATED, [("x-version", api_version.0.to_string())], Json(account)))
}

#[tokio::test]
async fn an_account_is_added_once() {
    run(async |bench: &Bench<Sqlite>| {
        let launch = bench.server().router(|app| {
            let state = AppState { pool: app.writer, idempotency: app.idempotency };
            Router::new()
                .route("/v1/before", post(add_account_before))
                .route("/v1/accounts", post(add_account))
                .with_state(Arc::new(state))
        });
        let server = launch.start().await;
        let request = r1().field("Authorization", "alice").body(r#"{"owner":"alice","cents":5}"#);

        let before = request.clone().path("/v1/before");
        let before = [server.send(&before).await, server.send(&before).await];
        let request = request.path("/v1/accounts");
        let after = twice(&server, &request).await;
        let refused = twice(&server, &request.set("Authorization", "mallory")).await;

        assert!(before.iter().all(|answer| answer.status == 201 && !answer.is_replay()));
        assert_eq!((after.status, after.text()), (201, r#"{"owner":"alice","cents":5}"#));
        assert_eq!(refused.status, 422);
        bench.assert_holds(2, 3).await;
    })
    .await;
}
