use axum::extract::Path;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "weight,endpoint")]
async fn create(_tx: &mut PgConnection, Path(weight): Path<f64>, body: String) -> String {
    body
}

fn main() {}
