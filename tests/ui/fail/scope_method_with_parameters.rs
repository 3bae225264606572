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

impl CreateOrder {
    fn shop(&self, _region: &str) -> &str {
        &self.item
    }
}

#[idempotent(scope = "req.shop(),endpoint")]
async fn create(_tx: &mut PgConnection, Json(req): Json<CreateOrder>) -> String {
    req.item
}

fn main() {}
