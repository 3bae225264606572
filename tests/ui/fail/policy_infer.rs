use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(policy = _)]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
