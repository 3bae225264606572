use idem_runtime::Policy;

#[derive(Policy)]
struct PublicApi;

fn main() {}
