use idem_runtime::idempotent;
use sqlx::PgConnection;

struct Order;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, body: String) -> Order {
    let _ = body;
    Order
}

fn main() {}
