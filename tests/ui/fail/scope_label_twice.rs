use idem_runtime::idempotent;
use sqlx::PgConnection;

struct User {
    id: String,
}

struct Order {
    id: String,
}

#[idempotent(scope = "user.id,order.id")]
async fn create(_tx: &mut PgConnection, #[context] user: User, #[context] order: Order) -> String {
    user.id + &order.id
}

fn main() {}
