use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, body: &impl std::fmt::Debug) -> String {
    format!("{body:?}")
}

fn main() {}
