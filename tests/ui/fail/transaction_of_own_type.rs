use idem_runtime::idempotent;

struct Database;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut Database, body: String) -> String {
    body
}

fn main() {}
