use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(
    _tx: &mut PgConnection,
    #[fingerprint(body)] uri: axum::http::Uri,
    body: String,
) -> String {
    let _ = uri;
    body
}

fn main() {}
