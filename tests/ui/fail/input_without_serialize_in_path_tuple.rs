use axum::extract::Path;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(serde::Deserialize)]
struct CreateOrder {
    item: String,
}

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, req: Path<(u64, CreateOrder)>) {
    let _ = req;
}

fn main() {}
