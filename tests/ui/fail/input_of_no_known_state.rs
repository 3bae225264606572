use axum::extract::State;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(Clone)]
struct Mailer;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, State(app): State<Mailer>, body: String) -> String {
    drop(app);
    body
}

fn main() {}
