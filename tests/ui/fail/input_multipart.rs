use idem_runtime::idempotent;
use sqlx::PgConnection;

struct Multipart;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, req: Multipart) {
    drop(req);
}

fn main() {}
