use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", run_limit = "60")]
struct PublicApi;

fn main() {}
