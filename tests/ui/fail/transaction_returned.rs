use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut PgConnection, body: String) -> &mut PgConnection {
    let _ = body;
    tx
}

fn main() {}
