use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_log: &mut String, _tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
