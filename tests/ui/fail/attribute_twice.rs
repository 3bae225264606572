use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
#[idempotent(scope = "endpoint", ttl = "48h")]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
