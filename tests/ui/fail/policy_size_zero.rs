use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", max_response = "0B")]
struct PublicApi;

fn main() {}
