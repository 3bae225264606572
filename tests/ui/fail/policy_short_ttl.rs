use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", ttl = "1h")]
struct PublicApi;

fn main() {}
