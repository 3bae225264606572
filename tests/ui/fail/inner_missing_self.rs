use idem_runtime::idempotent;
use sqlx::PgConnection;

struct Orders;

impl Orders {
    #[idempotent(scope = "endpoint", inner = "create_inner")]
    async fn create(_tx: &mut PgConnection, body: String) -> String {
        body
    }
}

fn main() {}
