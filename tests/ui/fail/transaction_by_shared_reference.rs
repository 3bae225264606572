use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &sqlx::PgTransaction<'_>, body: String) -> String {
    body
}

fn main() {}
