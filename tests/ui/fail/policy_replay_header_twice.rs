use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", replay_headers = "x-total, X-Total")]
struct PublicApi;

fn main() {}
