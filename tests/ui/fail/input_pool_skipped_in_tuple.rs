use axum::extract::{Query, State};
use idem_runtime::idempotent;
use sqlx::{PgConnection, PgPool};

#[idempotent(scope = "endpoint")]
async fn create(
    _tx: &mut PgConnection,
    #[fingerprint(skip)] (State(_pool), Query(_page)): (State<PgPool>, Query<u32>),
) {
}

fn main() {}
