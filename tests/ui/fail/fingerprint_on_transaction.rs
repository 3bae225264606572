use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(#[fingerprint(skip)] _tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
