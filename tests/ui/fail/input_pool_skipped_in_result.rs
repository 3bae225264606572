use std::convert::Infallible;

use axum::extract::State;
use idem_runtime::idempotent;
use sqlx::{PgConnection, PgPool};

#[idempotent(scope = "endpoint")]
async fn create(
    _tx: &mut PgConnection,
    #[fingerprint(skip)] pool: Result<State<PgPool>, Infallible>,
    body: String,
) -> String {
    drop(pool);
    body
}

fn main() {}
