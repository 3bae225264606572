use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", replay_headers = "x-total, set-cookie")]
struct PublicApi;

fn main() {}
