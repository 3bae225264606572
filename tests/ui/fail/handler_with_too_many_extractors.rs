use axum::http::Method;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "endpoint")]
async fn create(
    _tx: &mut PgConnection,
    _1: Method,
    _2: Method,
    _3: Method,
    _4: Method,
    _5: Method,
    _6: Method,
    _7: Method,
    _8: Method,
    _9: Method,
    _10: Method,
    _11: Method,
    _12: Method,
    _13: Method,
    _14: Method,
    _15: Method,
    body: String,
) -> String {
    body
}

fn main() {}
