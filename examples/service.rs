//! A service that owns its transactions, and whose requests may be repeated all the same: `cargo run --example
//! service`.
//!
//! The handler reads HTTP, the service decides, the repository speaks SQL. The transaction begins in the service, so
//! `#[idempotent]` on the handler would be in the wrong place: the handler describes the operation by hand instead, and
//! the service runs it. The program sends itself three requests and prints what comes back. The database is a file in a
//! temporary directory, which is removed at the end.

use std::error::Error;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRef, FromRequestParts, State};
use axum::http::{Request, StatusCode, request::Parts};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing::post};
use idem_runtime::{Guard, Idempotency, Operation, ScopeValue, SqlitePools, Transient, is_transient};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::sqlite::{Sqlite, SqliteConnectOptions, SqliteConnection};
use tower_service::Service as _;

const TABLES: &str = "
    CREATE TABLE accounts (name TEXT PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0));
    CREATE TABLE transfers (id INTEGER PRIMARY KEY, payer TEXT NOT NULL, recipient TEXT NOT NULL, amount INTEGER NOT NULL);
    INSERT INTO accounts VALUES ('ada', 100), ('bob', 0);
";

// --- The handler: HTTP ----------------------------------------------------------------------------------------

#[derive(Deserialize, Serialize)]
struct NewTransfer {
    recipient: String,
    /// In the smallest unit of the currency.
    amount: i64,
}

/// What the key is unique within, and what a retry is compared by, is said where the request is.
async fn create_transfer(
    guard: Guard<Sqlite>,
    State(transfers): State<Transfers>,
    payer: Payer,
    Json(new): Json<NewTransfer>,
) -> Response {
    let operation = guard.by_hand().scope("payer", &payer).endpoint().fingerprint(&Json(&new));
    transfers.transfer(operation, payer.0, new).await
}

// --- The service: what a transfer is --------------------------------------------------------------------------

#[derive(Clone)]
struct Transfers;

#[derive(Serialize)]
struct Transfer {
    id: i64,
    recipient: String,
    amount: i64,
}

impl Transfers {
    /// Everything in `work` is one transaction with the key and the stored answer.
    async fn transfer(&self, operation: Operation<Sqlite>, payer: String, new: NewTransfer) -> Response {
        let work = operation.run(move |tx, execution| {
            Box::pin(async move {
                let NewTransfer { recipient, amount } = new;
                accounts::withdraw(tx, &payer, amount).await?;
                accounts::deposit(tx, &recipient, amount).await?;
                let id = accounts::note(tx, &payer, &recipient, amount).await?;

                // Once it has committed, and not for a retry.
                let told = recipient.clone();
                execution.after_commit(async move { println!("   (a message to {told})") });
                Ok::<_, Refusal>(Transfer { id, recipient, amount })
            })
        });
        work.await
    }
}

enum Refusal {
    NotEnough,
    NoSuchAccount,
    Database(sqlx::Error),
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

/// A failure that may have passed by the next attempt is not stored, so that the retry runs.
impl Transient for Refusal {
    fn is_transient(&self) -> bool {
        matches!(self, Self::Database(error) if is_transient(error))
    }
}

// --- The repository: SQL --------------------------------------------------------------------------------------

mod accounts {
    use super::{Refusal, SqliteConnection};

    pub(super) async fn withdraw(
        connection: &mut SqliteConnection,
        name: &str,
        amount: i64,
    ) -> Result<(), Refusal> {
        let update = "UPDATE accounts SET balance = balance - ?2 WHERE name = ?1 AND balance >= ?2";
        let done = sqlx::query(update).bind(name).bind(amount).execute(connection).await?;
        if done.rows_affected() == 1 { Ok(()) } else { Err(Refusal::NotEnough) }
    }

    pub(super) async fn deposit(
        connection: &mut SqliteConnection,
        name: &str,
        amount: i64,
    ) -> Result<(), Refusal> {
        let update = "UPDATE accounts SET balance = balance + ?2 WHERE name = ?1";
        let done = sqlx::query(update).bind(name).bind(amount).execute(connection).await?;
        if done.rows_affected() == 1 { Ok(()) } else { Err(Refusal::NoSuchAccount) }
    }

    pub(super) async fn note(
        connection: &mut SqliteConnection,
        payer: &str,
        recipient: &str,
        amount: i64,
    ) -> Result<i64, sqlx::Error> {
        let insert = "INSERT INTO transfers (payer, recipient, amount) VALUES (?, ?, ?) RETURNING id";
        sqlx::query_scalar(insert).bind(payer).bind(recipient).bind(amount).fetch_one(connection).await
    }
}

// --- What becomes HTTP again ----------------------------------------------------------------------------------

impl IntoResponse for Transfer {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self)).into_response()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, message) = match self {
            Self::NotEnough => (StatusCode::CONFLICT, "there is not enough in the account"),
            Self::NoSuchAccount => (StatusCode::NOT_FOUND, "there is no such account"),
            Self::Database(error) => {
                eprintln!("{error}");
                (StatusCode::INTERNAL_SERVER_ERROR, "the database failed")
            }
        };
        (status, Json(json!({ "error": message }))).into_response()
    }
}

/// Who pays. A real service takes it from a verified token.
#[derive(ScopeValue)]
struct Payer(String);

impl<S: Sync> FromRequestParts<S> for Payer {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let payer = parts.headers.get("x-payer").and_then(|value| value.to_str().ok()).unwrap_or_default();
        if payer.is_empty() {
            return Err((StatusCode::UNAUTHORIZED, "the header X-Payer says who pays\n"));
        }
        Ok(Self(payer.to_owned()))
    }
}

#[derive(Clone)]
struct App {
    idempotency: Idempotency<Sqlite>,
    transfers: Transfers,
}

/// How the guard finds its engine.
impl FromRef<App> for Idempotency<Sqlite> {
    fn from_ref(app: &App) -> Self {
        app.idempotency.clone()
    }
}

impl FromRef<App> for Transfers {
    fn from_ref(app: &App) -> Self {
        app.transfers.clone()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("transfers-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let database = SqliteConnectOptions::new().filename(directory.join("bank.db")).create_if_missing(true);
    let pools = SqlitePools::connect_with(database).await?;
    sqlx::raw_sql(TABLES).execute(pools.writer()).await?;

    let idempotency = Idempotency::builder(pools.clone()).build()?;
    idempotency.migrate().await?;
    let app = Router::new()
        .route("/transfers", post(create_transfer))
        .with_state(App { idempotency: idempotency.clone(), transfers: Transfers });

    send(&app, "the first request", "t-1", r#"{"recipient":"bob","amount":70}"#).await?;
    send(
        &app,
        "its retry: the same answer, and no second transfer",
        "t-1",
        r#"{"recipient":"bob","amount":70}"#,
    )
    .await?;
    send(&app, "another transfer: refused, and stored as that", "t-2", r#"{"recipient":"bob","amount":70}"#)
        .await?;

    idempotency.drain(Duration::from_secs(30)).await;
    let select = "SELECT name || ' ' || balance FROM accounts ORDER BY name";
    let balances: Vec<String> = sqlx::query_scalar(select).fetch_all(pools.reader()).await?;
    println!("-- balances: {}", balances.join(", "));
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

/// Sends a request as a client would, and prints the answer.
async fn send(app: &Router, what: &str, key: &str, body: &'static str) -> Result<(), Box<dyn Error>> {
    let request = Request::post("/transfers")
        .header("X-Payer", "ada")
        .header("Idempotency-Key", format!("\"{key}\""))
        .header("Content-Type", "application/json")
        .body(Body::from(body))?;
    let response = app.clone().call(request).await?;

    let status = response.status();
    let is_replay = response.headers().contains_key("idempotent-replayed");
    let body = to_bytes(response.into_body(), 4096).await?;
    println!("-- {what}\n   {status}, replayed: {is_replay}, {}", String::from_utf8_lossy(&body));
    Ok(())
}
