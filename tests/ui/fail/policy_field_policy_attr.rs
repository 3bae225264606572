use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint")]
struct PublicApi {
    #[policy(skip)]
    uri: axum::http::Uri,
}

fn main() {}
