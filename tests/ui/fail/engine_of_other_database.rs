use axum::extract::FromRef;
use idem_runtime::{Idempotency, idempotent};

#[derive(Clone)]
struct App;

impl FromRef<App> for Idempotency<sqlx::Postgres> {
    fn from_ref(_: &App) -> Self {
        todo!()
    }
}

#[idempotent(scope = "endpoint")]
#[axum::debug_handler(state = App)]
async fn create(_tx: &mut sqlx::SqliteConnection, body: String) -> String {
    body
}

fn main() {}
