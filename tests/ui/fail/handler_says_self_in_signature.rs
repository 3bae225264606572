use idem_runtime::idempotent;
use sqlx::PgConnection;

#[derive(Clone, serde::Deserialize, serde::Serialize)]
struct Orders;

impl Orders {
    #[idempotent(scope = "endpoint")]
    async fn create(_tx: &mut PgConnection, body: axum::Json<Self>) -> axum::Json<Self> {
        body
    }
}

fn main() {}
