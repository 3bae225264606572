use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "body.get(0..3),endpoint")]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
