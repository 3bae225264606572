use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", mismatch = "422")]
struct PublicApi;

fn main() {}
