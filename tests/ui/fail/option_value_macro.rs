use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = concat!("endpoint"), ttl = "24h")]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
