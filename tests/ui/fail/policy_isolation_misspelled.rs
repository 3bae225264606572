use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", isolation = "serialisable")]
struct PublicApi;

fn main() {}
