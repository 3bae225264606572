use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "body,endpoint")]
async fn create(_tx: &mut PgConnection, #[cfg(not(windows))] body: String) -> String {
    body
}

fn main() {}
