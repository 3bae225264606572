use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
trait Orders {
    async fn create(_tx: &mut sqlx::PgConnection) {}
}

fn main() {}
