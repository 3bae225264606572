use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", crate = idem)]
struct PublicApi;

fn main() {}
