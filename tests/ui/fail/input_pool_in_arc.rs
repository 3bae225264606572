use axum::extract::State;
use idem_runtime::idempotent;
use sqlx::PgConnection;
use std::sync::Arc;

struct AppState {
    _pool: sqlx::PgPool,
}

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, State(app): State<Arc<AppState>>, body: String) -> String {
    drop(app);
    body
}

fn main() {}
