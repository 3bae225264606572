use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint")]
struct PublicApi(String);

fn main() {}
