use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", table = "keys")]
struct PublicApi;

fn main() {}
