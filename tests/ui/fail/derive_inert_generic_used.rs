use axum::extract::State;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(idem_runtime::Inert)]
struct AppState<T> {
    _db: T,
}

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, State(app): State<AppState<sqlx::PgPool>>, body: String) -> String {
    drop(app);
    body
}

fn main() {}
