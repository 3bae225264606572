use axum::Json;
use idem_runtime::{ScopeValue, idempotent};
use sqlx::PgConnection;

#[derive(ScopeValue)]
struct TenantId(String);

struct CreateOrder {
    item: String,
}

#[idempotent(scope = "tennant,endpoint", ttl = "24 hours", expires = "1h")]
fn create(_tx: &mut PgConnection, tenant: TenantId, Json(req): Json<CreateOrder>) -> String {
    tenant.0 + &req.item
}

fn main() {}
