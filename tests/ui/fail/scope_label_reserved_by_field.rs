use axum::Json;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(serde::Serialize)]
struct Hook {
    endpoint: String,
}

#[idempotent(scope = "hook.endpoint")]
async fn create(_tx: &mut PgConnection, Json(hook): Json<Hook>) -> String {
    hook.endpoint
}

fn main() {}
