use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "body[0]")]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
