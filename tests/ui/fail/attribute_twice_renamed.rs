use idem_runtime::idempotent;
use idem_runtime::idempotent as once;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
#[once(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
