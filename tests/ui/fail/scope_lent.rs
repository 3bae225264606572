use idem_runtime::{Execution, idempotent};
use sqlx::PgConnection;

#[idempotent(scope = "execution,endpoint")]
async fn create(_tx: &mut PgConnection, execution: &Execution, body: String) -> String {
    let _ = execution;
    body
}

fn main() {}
