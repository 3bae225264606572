use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut dyn std::any::Any, body: String) -> String {
    body
}

fn main() {}
