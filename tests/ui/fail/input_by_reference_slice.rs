use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, body: &[u8]) -> String {
    let _ = body;
    String::new()
}

fn main() {}
