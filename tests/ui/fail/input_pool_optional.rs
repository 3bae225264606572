use axum::Extension;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, pool: Option<Extension<sqlx::PgPool>>, body: String) -> String {
    drop(pool);
    body
}

fn main() {}
