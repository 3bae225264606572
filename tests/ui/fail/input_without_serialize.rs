use axum::Json;
use idem_runtime::idempotent;
use sqlx::PgConnection;

struct CreateOrder {
    item: String,
}

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, Json(req): Json<CreateOrder>) -> String {
    req.item
}

fn main() {}
