use axum::extract::State;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(
    _tx: &mut PgConnection,
    #[fingerprint(skip)] State(pool): State<sqlx::PgPool>,
    body: String,
) -> String {
    drop(pool);
    body
}

fn main() {}
