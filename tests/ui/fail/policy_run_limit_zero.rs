use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", run_limit = "0s")]
struct PublicApi;

fn main() {}
