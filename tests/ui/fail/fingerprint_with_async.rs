use idem_runtime::{Fingerprinter, idempotent};
use sqlx::PgConnection;

async fn compare(_body: &String, _into: &mut Fingerprinter) {}

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, #[fingerprint(with = compare)] body: String) -> String {
    body
}

fn main() {}
