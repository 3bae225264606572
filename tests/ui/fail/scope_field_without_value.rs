use axum::Json;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(serde::Serialize)]
struct CreateOrder {
    weight: f64,
}

#[idempotent(scope = "req.weight,endpoint")]
async fn create(_tx: &mut PgConnection, Json(req): Json<CreateOrder>) -> String {
    req.weight.to_string()
}

fn main() {}
