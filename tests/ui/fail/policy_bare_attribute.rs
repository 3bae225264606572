use idem_runtime::Policy;

#[derive(Policy)]
#[policy]
struct PublicApi;

fn main() {}
