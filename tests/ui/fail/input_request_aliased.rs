use idem_runtime::idempotent;
use sqlx::PgConnection;

type Whole = axum::extract::Request;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, req: Whole) {
    let _ = req;
}

fn main() {}
