use axum::extract::State;
use axum::http::HeaderMap;
use idem_runtime::idempotent;
use sqlx::{PgConnection, PgPool};

type Both = (State<PgPool>, HeaderMap);

#[idempotent(scope = "endpoint")]
async fn create(
    _tx: &mut PgConnection,
    #[fingerprint(skip)] (State(pool), _headers): Both,
    body: String,
) -> String {
    drop(pool);
    body
}

fn main() {}
