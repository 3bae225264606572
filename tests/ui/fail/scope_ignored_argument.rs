use axum::Extension;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "tenant,endpoint")]
async fn create(_tx: &mut PgConnection, _: Extension<String>, body: String) -> String {
    body
}

fn main() {}
