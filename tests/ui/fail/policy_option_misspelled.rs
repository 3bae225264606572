use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", headr = "X-Key")]
struct PublicApi;

fn main() {}
