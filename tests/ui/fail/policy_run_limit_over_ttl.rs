use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", ttl = "1h", allow(short_ttl), run_limit = "2h")]
struct PublicApi;

fn main() {}
