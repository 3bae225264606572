use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint", inner = "create inner")]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
