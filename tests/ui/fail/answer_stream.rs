use axum::response::Sse;
use idem_runtime::idempotent;
use sqlx::PgConnection;

struct Progress;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, body: String) -> Result<Sse<Progress>, String> {
    Err(body)
}

fn main() {}
