use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", key = "id")]
struct PublicApi;

fn main() {}
