use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut PgConnection, body: String) -> Result<String, String> {
    tx.commit().await.map_err(|error| error.to_string())?;
    Ok(body)
}

fn main() {}
