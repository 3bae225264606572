use axum::extract::Request;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, upload: Request) -> &'static str {
    drop(upload);
    "done"
}

fn main() {}
