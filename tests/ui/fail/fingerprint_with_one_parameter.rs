use idem_runtime::idempotent;
use sqlx::PgConnection;

fn compare(_body: &String) {}

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, #[fingerprint(with = compare)] body: String) -> String {
    body
}

fn main() {}
