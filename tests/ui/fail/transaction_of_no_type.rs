use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut impl sqlx::Connection, body: String) -> String {
    body
}

fn main() {}
