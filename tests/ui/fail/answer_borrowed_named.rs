use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create<'a>(_tx: &'a mut PgConnection) -> &'a str {
    "done"
}

fn main() {}
