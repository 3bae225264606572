use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(Clone)]
struct App;

#[idempotent(scope = "endpoint")]
#[axum::debug_handler(state = App)]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
