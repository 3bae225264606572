use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut [u8], body: String) -> String {
    body
}

fn main() {}
