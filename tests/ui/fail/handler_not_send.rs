use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut PgConnection, body: String) -> String {
    let shared = std::rc::Rc::new(body);
    let _ = sqlx::query("SELECT 1").execute(&mut *tx).await;
    shared.to_string()
}

fn main() {}
