use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create((_tx, body): (&mut PgConnection, String)) -> String {
    body
}

fn main() {}
