use idem_runtime::{Execution, idempotent};
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut PgConnection, execution: &Execution, body: String) -> String {
    execution.after_commit(async move {
        let _ = sqlx::query("SELECT 1").execute(tx).await;
    });
    body
}

fn main() {}
