use axum::Json;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(serde::Serialize)]
struct CreateOrder {
    item: String,
}

#[idempotent(scope = "req,endpoint")]
async fn create(_tx: &mut PgConnection, Json(req): Json<CreateOrder>) -> String {
    req.item
}

fn main() {}
