use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", mismatch = 404)]
struct PublicApi;

fn main() {}
