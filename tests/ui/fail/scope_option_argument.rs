use axum::Extension;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "user,endpoint")]
async fn create(_tx: &mut PgConnection, Extension(user): Extension<Option<String>>, body: String) -> String {
    body
}

fn main() {}
