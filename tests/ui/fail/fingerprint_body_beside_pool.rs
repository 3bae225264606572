use axum::Json;
use axum::extract::State;
use idem_runtime::idempotent;
use sqlx::{PgConnection, PgPool};

#[derive(serde::Deserialize)]
struct Order {
    item: String,
}

#[idempotent(scope = "endpoint")]
async fn create(
    _tx: &mut PgConnection,
    #[fingerprint(body)] (State(_pool), Json(order)): (State<PgPool>, Json<Order>),
) -> String {
    order.item
}

fn main() {}
