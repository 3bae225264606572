use idem_runtime::idempotent;
use sqlx::PgConnection;

struct Orders;

impl Orders {
    #[idempotent(scope = "endpoint")]
    async fn create(&self, _tx: &mut PgConnection, body: String) -> String {
        body
    }
}

fn main() {}
