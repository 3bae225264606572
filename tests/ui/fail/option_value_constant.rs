use idem_runtime::idempotent;
use sqlx::PgConnection;

const TTL: &str = "24h";

#[idempotent(scope = "endpoint", ttl = TTL)]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
