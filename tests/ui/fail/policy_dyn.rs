use idem_runtime::idempotent;
use sqlx::PgConnection;

trait PublicApi {}

#[idempotent(policy = dyn PublicApi)]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
