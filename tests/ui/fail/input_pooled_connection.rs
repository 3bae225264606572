use axum::Extension;
use idem_runtime::idempotent;
use sqlx::PgConnection;
use sqlx::Postgres;
use sqlx::pool::PoolConnection;
use std::sync::{Arc, Mutex};

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, other: Extension<Arc<Mutex<PoolConnection<Postgres>>>>, body: String) -> String {
    drop(other);
    body
}

fn main() {}
