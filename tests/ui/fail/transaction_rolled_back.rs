use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut sqlx::PgTransaction<'_>, body: String) -> Result<String, String> {
    tx.rollback().await.map_err(|error| error.to_string())?;
    Ok(body)
}

fn main() {}
