use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", fingerprint = false)]
struct PublicApi;

fn main() {}
