use axum::Extension;
use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "tenant,endpoint")]
struct PublicApi {
    tenant: Option<Extension<String>>,
}

fn main() {}
