use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", max_response = "1MB")]
struct PublicApi;

fn main() {}
