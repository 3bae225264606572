use idem_runtime::{Execution, idempotent};
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, _e: &mut Execution, body: String) -> String {
    body
}

fn main() {}
