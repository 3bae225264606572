use axum::Json;
use idem_runtime::idempotent;
use sqlx::PgConnection;

mod orders {
    #[derive(serde::Deserialize, serde::Serialize)]
    pub struct Secret {
        id: u64,
    }
}

#[derive(serde::Deserialize, serde::Serialize)]
struct CreateOrder {
    item: String,
    inner: orders::Secret,
}

#[idempotent(scope = "req.inner.id,endpoint")]
async fn create(_tx: &mut PgConnection, Json(req): Json<CreateOrder>) -> String {
    req.item
}

fn main() {}
