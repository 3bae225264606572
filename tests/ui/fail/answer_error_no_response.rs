use idem_runtime::idempotent;
use sqlx::PgConnection;

struct AppError;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, body: String) -> Result<String, AppError> {
    Ok(body)
}

fn main() {}
