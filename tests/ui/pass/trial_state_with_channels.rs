//! A trial on an application whose state is a struct with a pool and channels, with `FromRef` for its parts.
//!
//! The signature is of the shape found in defguard: a role, a session, what is noted of the request, the whole state, a
//! payload; an event is sent where the row is written. Five lines of the handler change, each marked with its number;
//! one of them moves the event behind the commit. Once for the application come the policy, the engine in the state,
//! `Inert` for the state, and `Fingerprint` for the extractors, which are no input.

use axum::extract::{FromRef, FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::AppError;
use idem_runtime::{Execution, Fingerprint, Fingerprinter, Idempotency, Inert, Policy, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::http::r1;
use idem_tests::patience::soon;
use idem_tests::shape::twice;
use serde::{Deserialize, Serialize};
use sqlx::{Executor, Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

#[derive(Clone, Inert)]
struct AppState {
    /// Not for handlers that have a transaction.
    #[inert(trusted)]
    pool: SqlitePool,
    /// Read by a task of the application's own.
    #[inert(trusted)]
    events: UnboundedSender<Event>,
    #[inert(trusted)]
    idempotency: Idempotency<Sqlite>,
}

impl AppState {
    fn emit(&self, event: Event) -> Result<(), AppError> {
        self.events.send(event).map_err(|_| AppError::Refused("nobody listens"))
    }
}

impl FromRef<AppState> for Idempotency<Sqlite> {
    fn from_ref(state: &AppState) -> Self {
        state.idempotency.clone()
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Event {
    user: String,
    agent: String,
    hook: i64,
}

/// An extractor of one header; what it says of the request is no input.
macro_rules! header {
    ($name:ident, $header:literal, $missing:ident) => {
        struct $name(String);

        impl<S: Sync> FromRequestParts<S> for $name {
            type Rejection = StatusCode;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
                let value = parts.headers.get($header).and_then(|value| value.to_str().ok());
                value.map(|value| Self(value.to_owned())).ok_or(StatusCode::$missing)
            }
        }

        impl Fingerprint for $name {
            fn fingerprint(&self, _: &mut Fingerprinter) {
                let Self(_not_compared) = self;
            }
        }
    };
}

header!(AdminRole, "x-admin", FORBIDDEN);
header!(Session, "x-session", UNAUTHORIZED);
header!(RequestContext, "user-agent", BAD_REQUEST);

#[derive(Deserialize, Serialize)]
struct HookData {
    url: String,
}

impl HookData {
    async fn save<'e>(&self, executor: impl Executor<'e, Database = Sqlite>) -> sqlx::Result<i64> {
        let insert = "INSERT INTO orders (tenant, item, qty) VALUES ('hooks', ?, 1) RETURNING id";
        sqlx::query_scalar(insert).bind(&self.url).fetch_one(executor).await
    }
}

type ApiResult = Result<(StatusCode, String), AppError>;

async fn add_hook_before(
    _admin: AdminRole,
    session: Session,
    context: RequestContext,
    State(state): State<AppState>,
    Json(data): Json<HookData>,
) -> ApiResult {
    let hook = data.save(&state.pool).await?;
    state.emit(Event { user: session.0, agent: context.0, hook })?;
    Ok((StatusCode::CREATED, hook.to_string()))
}

#[derive(Policy)]
#[policy(scope = "user = session.0, endpoint")]
struct ByAdmins {
    session: Session,
    admin: AdminRole,
}

#[idempotent(policy = ByAdmins)] // 1
async fn add_hook(
    tx: &mut SqliteConnection, // 2, in place of the role, which the policy asks for
    session: Session,
    context: RequestContext,
    execution: &Execution, // 3
    State(state): State<AppState>,
    Json(data): Json<HookData>,
) -> ApiResult {
    let hook = data.save(tx).await?; // 4
    execution
        .after_commit(async move { drop(state.emit(Event { user: session.0, agent: context.0, hook })) }); // 5
    Ok((StatusCode::CREATED, hook.to_string()))
}

#[tokio::test]
async fn a_hook_is_added_and_told_of_once() {
    run(async |bench: &Bench<Sqlite>| {
        let (events, mut told) = unbounded_channel();
        let launch = bench.server().router(|app| {
            let state = AppState { pool: app.writer, events, idempotency: app.idempotency };
            Router::new()
                .route("/before", post(add_hook_before))
                .route("/hooks", post(add_hook))
                .with_state(state)
        });
        let server = launch.start().await;
        let request =
            r1().field("User-Agent", "a").field("X-Session", "s").body(r#"{"url":"https://a.test"}"#);
        let by_admin = request.clone().field("X-Admin", "yes");

        let before = by_admin.clone().path("/before");
        let before = [server.send(&before).await, server.send(&before).await];
        let after = twice(&server, &by_admin.path("/hooks")).await;
        let nobody = server.send(&request.path("/hooks")).await;

        assert_eq!(before.map(|answer| answer.text().to_owned()), ["1", "2"]);
        assert_eq!((after.status, after.text(), nobody.status), (201, "3", 403));
        for hook in 1..=3 {
            let event = Event { user: "s".to_owned(), agent: "a".to_owned(), hook };
            assert_eq!(soon(told.recv()).await, Some(event));
        }
        assert!(told.is_empty(), "a replay tells nobody");
        bench.assert_holds(1, 3).await;
    })
    .await;
}
