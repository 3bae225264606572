use idem_runtime::idempotent;

#[idempotent(scope = "endpoint")]
async fn create<'a>(_tx: &'a mut sqlx::PgTransaction<'a>, body: String) -> String {
    body
}

fn main() {}
