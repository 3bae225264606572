use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
fn create(_tx: &mut PgConnection, body: String) -> impl Future<Output = String> {
    async move { body }
}

fn main() {}
