use axum::extract::Query;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(serde::Deserialize)]
struct CreateOrder {
    item: String,
}

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, (_, req): (axum::http::Method, Query<CreateOrder>)) {
    let _ = req;
}

fn main() {}
