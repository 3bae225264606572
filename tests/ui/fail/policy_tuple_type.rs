use idem_runtime::idempotent;
use sqlx::PgConnection;

struct A;
struct B;

#[idempotent(policy = (A, B))]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
