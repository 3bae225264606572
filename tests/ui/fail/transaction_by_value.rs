use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
async fn create(mut tx: sqlx::PgTransaction<'_>, body: String) -> Result<String, String> {
    sqlx::query("INSERT INTO orders (item) VALUES ($1)")
        .bind(&body)
        .execute(&mut *tx)
        .await
        .map_err(|error| error.to_string())?;
    tx.commit().await.map_err(|error| error.to_string())?;
    Ok(body)
}

fn main() {}
