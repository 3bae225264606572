use idem_runtime::{Policy, idempotent};
use sqlx::PgConnection;

struct OtherApi;

#[derive(Policy)]
#[policy(scope = "endpoint")]
struct PublicApi;

#[idempotent(policy = PublicApi)]
async fn create(_tx: &mut PgConnection, api: &OtherApi, body: String) -> String {
    let _ = api;
    body
}

fn main() {}
