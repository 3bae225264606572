use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint")]
struct PublicApi {
    #[fingerprint(body)] body: axum::http::Uri,
}

fn main() {}
