use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, _pool: &sqlx::PgPool, body: String) -> String {
    body
}

fn main() {}
