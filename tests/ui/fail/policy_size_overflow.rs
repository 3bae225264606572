use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", max_response = "99999999999999999999MiB")]
struct PublicApi;

fn main() {}
