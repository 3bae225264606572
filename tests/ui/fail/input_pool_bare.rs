use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, pool: sqlx::PgPool, body: String) -> String {
    drop(pool);
    body
}

fn main() {}
