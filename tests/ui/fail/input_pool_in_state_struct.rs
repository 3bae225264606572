use axum::extract::State;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(Clone)]
struct AppState {
    _pool: sqlx::PgPool,
}

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, State(app): State<AppState>, body: String) -> String {
    drop(app);
    body
}

fn main() {}
