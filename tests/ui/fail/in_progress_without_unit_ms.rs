use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint", in_progress = "wait 500")]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
