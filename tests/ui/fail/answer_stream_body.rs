use idem_runtime::idempotent;
use sqlx::PgConnection;

struct StreamBody;

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, body: String) -> StreamBody {
    let _ = body;
    StreamBody
}

fn main() {}
