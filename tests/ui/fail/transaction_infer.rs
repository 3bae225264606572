use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut _, body: String) -> String {
    body
}

fn main() {}
