use idem_runtime::idempotent;
use sqlx::PgConnection;

struct Config;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, _config: &Config, body: String) -> String {
    body
}

fn main() {}
