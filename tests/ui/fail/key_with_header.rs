use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint", key = "body", header = "X-Event-Id")]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
