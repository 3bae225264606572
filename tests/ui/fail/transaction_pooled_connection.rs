use idem_runtime::idempotent;
use sqlx::Postgres;
use sqlx::pool::PoolConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PoolConnection<Postgres>, body: String) -> String {
    body
}

fn main() {}
