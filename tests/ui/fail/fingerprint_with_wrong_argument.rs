use idem_runtime::{Fingerprinter, idempotent};
use sqlx::PgConnection;

fn compare(_body: &u64, _into: &mut Fingerprinter) {}

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, #[fingerprint(with = compare)] body: String) -> String {
    body
}

fn main() {}
