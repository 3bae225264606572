use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "uri,endpoint")]
struct PublicApi {
    uri: axum::http::Uri,
}

fn main() {}
