use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", max_response = "1024MiB")]
struct PublicApi;

fn main() {}
