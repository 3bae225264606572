use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut PgConnection, body: String) -> String {
    tokio::spawn(async move {
        let _ = sqlx::query("SELECT 1").execute(&mut *tx).await;
    });
    body
}

fn main() {}
