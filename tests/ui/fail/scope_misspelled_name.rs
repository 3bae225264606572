use idem_runtime::{ScopeValue, idempotent};
use sqlx::PgConnection;

#[derive(ScopeValue)]
struct TenantId(String);

#[idempotent(scope = "tennant,endpoint", ttl = "24h")]
async fn create(_tx: &mut PgConnection, tenant: TenantId) -> String {
    tenant.0
}

fn main() {}
