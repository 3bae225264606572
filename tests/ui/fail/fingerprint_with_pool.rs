use axum::extract::State;
use idem_runtime::{Fingerprinter, idempotent};
use sqlx::PgConnection;

fn compare(_: &State<sqlx::PgPool>, _: &mut Fingerprinter) {}

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, #[fingerprint(with = compare)] _pool: State<sqlx::PgPool>, body: String) -> String {
    body
}

fn main() {}
