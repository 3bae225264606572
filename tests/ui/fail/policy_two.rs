use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(policy = idem_runtime::NoPolicy, policy = idem_runtime::NoPolicy)]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
