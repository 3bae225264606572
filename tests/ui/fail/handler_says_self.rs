use idem_runtime::idempotent;
use sqlx::PgConnection;

struct Orders;

impl Orders {
    fn accepted() -> &'static str {
        "accepted"
    }

    #[idempotent(scope = "endpoint")]
    async fn create(_tx: &mut PgConnection, body: String) -> String {
        body + Self::accepted()
    }
}

fn main() {}
