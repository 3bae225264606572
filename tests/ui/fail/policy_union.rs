use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint")]
union PublicApi {
    a: u8,
}

fn main() {}
