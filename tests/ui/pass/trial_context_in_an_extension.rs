//! A trial on an application whose context, a configuration and a pool, is an `Extension`; its router has no state.
//!
//! The signature is of the shape found in launchbadge/realworld-axum-sqlx. Five lines of the handler change, each
//! marked with its number. Once for the application come the policy, and the engine as another extension.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::post;
use axum::{Extension, Json, Router};
use idem_examples::reference::AppError;
use idem_runtime::{Policy, idempotent};
use idem_tests::bench::{Bench, run};
use idem_tests::http::r1;
use idem_tests::shape::twice;
use serde::{Deserialize, Serialize};
use sqlx::{Sqlite, SqliteConnection, SqlitePool};

const INSERT: &str = "INSERT INTO orders (tenant, item, qty) VALUES (?, ?, length(?)) RETURNING id";

#[derive(Clone)]
struct ApiContext {
    settings: Arc<Settings>,
    pool: SqlitePool,
}

struct Settings {
    is_open: bool,
}

struct SignedIn {
    user_id: i64,
}

impl FromRequestParts<()> for SignedIn {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, (): &()) -> Result<Self, StatusCode> {
        let context = parts.extensions.get::<ApiContext>().filter(|context| context.settings.is_open);
        let user = parts.headers.get("authorization").and_then(|user| user.to_str().ok());
        let user_id = context.and(user).and_then(|user| user.parse().ok());
        user_id.map(|user_id| Self { user_id }).ok_or(StatusCode::UNAUTHORIZED)
    }
}

#[derive(Deserialize, Serialize)]
struct Remark<T> {
    remark: T,
}

/// As in many an application, what comes in is no `Serialize`.
#[derive(Deserialize)]
struct NewRemark {
    text: String,
}

#[derive(Serialize)]
struct Remarked {
    id: i64,
}

type AppResult<T, E = AppError> = Result<T, E>;

async fn add_remark_before(
    user: SignedIn,
    ctx: Extension<ApiContext>,
    Path(slug): Path<String>,
    req: Json<Remark<NewRemark>>,
) -> AppResult<Json<Remark<Remarked>>> {
    let id = sqlx::query_scalar(INSERT)
        .bind(user.user_id)
        .bind(&req.remark.text)
        .bind(slug)
        .fetch_optional(&ctx.pool)
        .await?
        .ok_or(AppError::NotFound)?;
    Ok(Json(Remark { remark: Remarked { id } }))
}

#[derive(Policy)]
#[policy(scope = "user.user_id, endpoint", engine = "extension")]
struct Api {
    #[context]
    user: SignedIn,
}

#[idempotent(policy = Api)] // 1
async fn add_remark(
    #[context] user: SignedIn, // 2
    tx: &mut SqliteConnection, // 3
    Path(slug): Path<String>,
    #[fingerprint(body)] req: Json<Remark<NewRemark>>, // 4
) -> AppResult<Json<Remark<Remarked>>> {
    let id = sqlx::query_scalar(INSERT)
        .bind(user.user_id)
        .bind(&req.remark.text)
        .bind(slug)
        .fetch_optional(tx) // 5
        .await?
        .ok_or(AppError::NotFound)?;
    Ok(Json(Remark { remark: Remarked { id } }))
}

#[tokio::test]
async fn a_remark_is_made_once() {
    run(async |bench: &Bench<Sqlite>| {
        let launch = bench.server().router(|app| {
            let settings = Arc::new(Settings { is_open: true });
            Router::new()
                .route("/before/{slug}/remarks", post(add_remark_before))
                .route("/{slug}/remarks", post(add_remark))
                .layer(Extension(ApiContext { settings, pool: app.writer }))
                .layer(Extension(app.idempotency))
        });
        let server = launch.start().await;
        let request = r1().field("Authorization", "7").body(r#"{"remark":{"text":"good tea"}}"#);

        let before = request.clone().path("/before/tea/remarks");
        let before = [server.send(&before).await, server.send(&before).await];
        let request = request.path("/tea/remarks");
        let after = twice(&server, &request).await;
        let nobody = server.send(&request.without("Authorization")).await;

        let [first, second] = before.map(|answer| answer.text().to_owned());
        assert_eq!((&*first, &*second), (r#"{"remark":{"id":1}}"#, r#"{"remark":{"id":2}}"#));
        assert_eq!((after.text(), nobody.status), (r#"{"remark":{"id":3}}"#, 401));
        bench.assert_holds(1, 3).await;
    })
    .await;
}
