use axum::extract::Path;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "path,endpoint")]
async fn create(_tx: &mut PgConnection, Path(path): Path<(u64, u64)>) {
    let _ = path;
}

fn main() {}
