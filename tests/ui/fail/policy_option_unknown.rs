use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", expires = "1h")]
struct PublicApi;

fn main() {}
