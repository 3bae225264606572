use idem_runtime::idempotent;
use sqlx::PgConnection;

struct WebSocketUpgrade;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, req: WebSocketUpgrade) {
    drop(req);
}

fn main() {}
