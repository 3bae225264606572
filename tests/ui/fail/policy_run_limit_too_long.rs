use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", run_limit = "48h")]
struct PublicApi;

fn main() {}
