use axum::Json;
use axum::extract::Query;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(serde::Deserialize)]
struct Order {
    item: String,
}

#[idempotent(scope = "endpoint")]
async fn create(
    _tx: &mut PgConnection,
    #[fingerprint(body)] (Query(_page), Json(order)): (Query<u32>, Json<Order>),
) -> String {
    order.item
}

fn main() {}
