use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(
    _tx: &mut PgConnection,
    #[fingerprint(body)] other: String,
    #[fingerprint(body)] body: String,
) -> String {
    other + &body
}

fn main() {}
