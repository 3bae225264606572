use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint")]
enum PublicApi {
    A,
}

fn main() {}
