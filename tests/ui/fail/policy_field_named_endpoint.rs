use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint")]
struct PublicApi {
    endpoint: axum::http::Uri,
}

fn main() {}
