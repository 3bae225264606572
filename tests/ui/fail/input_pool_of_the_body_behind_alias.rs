use axum::Json;
use axum::extract::State;
use idem_runtime::idempotent;
use sqlx::{PgConnection, PgPool};

#[derive(serde::Deserialize)]
struct Order {
    item: String,
}

type Both = (State<PgPool>, Json<Order>);

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, #[fingerprint(body)] (State(pool), Json(order)): Both) -> String {
    drop(pool);
    order.item
}

fn main() {}
