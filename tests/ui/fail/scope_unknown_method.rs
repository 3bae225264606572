use axum::Json;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(serde::Deserialize, serde::Serialize)]
struct CreateOrder {
    item: String,
    qty: Option<u32>,
    weight: f64,
    gift: bool,
}

#[idempotent(scope = "req.tenant(),endpoint")]
async fn create(_tx: &mut PgConnection, Json(req): Json<CreateOrder>) -> String {
    req.item
}

fn main() {}
