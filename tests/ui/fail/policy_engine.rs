use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint", engine = "state of app")]
struct PublicApi;

fn main() {}
