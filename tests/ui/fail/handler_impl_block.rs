use idem_runtime::idempotent;
use sqlx::PgConnection;

struct Orders;

#[idempotent(scope = "endpoint")]
impl Orders {
    async fn create(_tx: &mut PgConnection, body: String) -> String {
        body
    }
}

fn main() {}
