use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
mod orders {
    pub async fn create(_tx: &mut sqlx::PgConnection) {}
}

fn main() {}
