use idem_runtime::idempotent;
use sqlx::PgPool;

#[idempotent(scope = "endpoint")]
async fn create(_pool: &mut PgPool, body: String) -> String {
    body
}

fn main() {}
