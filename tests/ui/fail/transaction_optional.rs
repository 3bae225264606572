use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: Option<&mut PgConnection>, body: String) -> String {
    body
}

fn main() {}
