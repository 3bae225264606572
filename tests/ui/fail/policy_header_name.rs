use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", header = "Idempotency Key")]
struct PublicApi;

fn main() {}
