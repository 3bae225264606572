use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, #[context] _e: &idem_runtime::Execution, body: String) -> String {
    body
}

fn main() {}
