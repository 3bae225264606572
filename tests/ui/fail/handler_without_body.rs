use idem_runtime::idempotent;
use sqlx::PgConnection;

trait Orders {
    #[idempotent(scope = "endpoint")]
    async fn create(_tx: &mut PgConnection, body: String) -> String;
}

fn main() {}
