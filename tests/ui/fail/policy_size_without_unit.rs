use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", max_response = "65536")]
struct PublicApi;

fn main() {}
