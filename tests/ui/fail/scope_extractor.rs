use axum::Json;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "req,endpoint")]
async fn create(_tx: &mut PgConnection, req: Json<String>) -> String {
    req.0
}

fn main() {}
