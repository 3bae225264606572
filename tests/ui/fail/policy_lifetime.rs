use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint")]
struct PublicApi<'a> {
    tenant: axum::Extension<&'a str>,
}

fn main() {}
