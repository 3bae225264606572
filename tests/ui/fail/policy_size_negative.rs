use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", max_response = "-1KiB")]
struct PublicApi;

fn main() {}
