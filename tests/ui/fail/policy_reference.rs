use idem_runtime::idempotent;
use sqlx::PgConnection;

struct PublicApi;

#[idempotent(policy = &PublicApi)]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
