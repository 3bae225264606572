use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "headers.get(\"x-tenant\"),endpoint")]
async fn create(_tx: &mut PgConnection, headers: axum::http::HeaderMap, body: String) -> String {
    let _ = headers;
    body
}

fn main() {}
