use idem_runtime::Policy;

#[derive(Policy)]
#[policy(ttl = "24h")]
struct PublicApi;

fn main() {}
