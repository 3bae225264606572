use axum::Json;
use axum::extract::FromRef;
use idem_runtime::{Idempotency, Policy, idempotent};
use sqlx::PgConnection;

#[derive(Clone)]
struct App;

impl FromRef<App> for Idempotency<sqlx::Postgres> {
    fn from_ref(_: &App) -> Self {
        todo!()
    }
}

#[derive(Policy)]
#[policy(scope = "endpoint")]
struct PublicApi {
    order: Json<String>,
}

#[idempotent(policy = PublicApi)]
#[axum::debug_handler(state = App)]
async fn create(_tx: &mut PgConnection, body: String) -> String {
    body
}

fn main() {}
