use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", ttl = "24h", ttl = "48h")]
struct PublicApi;

fn main() {}
