use idem_runtime::idempotent;
use sqlx::PgConnection;

struct NotAPolicy;

#[idempotent(policy = NotAPolicy)]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
