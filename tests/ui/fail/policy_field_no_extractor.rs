use axum::extract::FromRef;
use idem_runtime::{Idempotency, Policy, ScopeValue, idempotent};
use sqlx::PgConnection;

#[derive(Clone)]
struct App;

impl FromRef<App> for Idempotency<sqlx::Postgres> {
    fn from_ref(_: &App) -> Self {
        todo!()
    }
}

#[derive(ScopeValue)]
struct TenantId(String);

#[derive(Policy)]
#[policy(scope = "tenant,endpoint")]
struct PublicApi {
    tenant: TenantId,
}

#[idempotent(policy = PublicApi)]
#[axum::debug_handler(state = App)]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
