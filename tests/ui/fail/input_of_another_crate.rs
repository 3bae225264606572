use idem_runtime::idempotent;
use sqlx::PgConnection;

/// An extractor that knows nothing of fingerprints.
struct Session;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, _session: Session, body: String) -> String {
    body
}

fn main() {}
