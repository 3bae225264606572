use axum::extract::Path;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint", key = "at")]
async fn create(_tx: &mut PgConnection, Path(at): Path<f64>, body: String) -> String {
    body
}

fn main() {}
