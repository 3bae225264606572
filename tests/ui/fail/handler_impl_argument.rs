use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, who: impl Into<String>, body: String) -> String {
    who.into() + &body
}

fn main() {}
