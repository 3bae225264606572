use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
async fn create(body: String) -> String {
    body
}

fn main() {}
