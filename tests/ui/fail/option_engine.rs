use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint", engine = "extension")]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
