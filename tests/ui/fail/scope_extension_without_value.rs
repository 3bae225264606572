use axum::Extension;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(Clone)]
struct TenantId(String);

#[idempotent(scope = "tenant,endpoint")]
async fn create(_tx: &mut PgConnection, Extension(tenant): Extension<TenantId>) -> String {
    tenant.0
}

fn main() {}
