use axum::body::Body;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, upload: Body) -> &'static str {
    drop(upload);
    "done"
}

fn main() {}
