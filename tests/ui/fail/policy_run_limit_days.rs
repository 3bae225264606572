use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", run_limit = "1d")]
struct PublicApi;

fn main() {}
