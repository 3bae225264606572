use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint", ttl = "-1h")]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
