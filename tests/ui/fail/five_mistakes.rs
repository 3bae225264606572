use axum::Json;
use idem_runtime::idempotent;
use sqlx::PgConnection;

struct CreateOrder {
    item: String,
}

#[idempotent(scope = "tennant,endpoint", ttl = "24 hours", expires = "1h")]
fn create(_tx: &mut PgConnection, tenant: String, Json(req): Json<CreateOrder>) -> String {
    tenant + &req.item
}

fn main() {}
