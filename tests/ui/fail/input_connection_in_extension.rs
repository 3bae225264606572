use axum::Extension;
use idem_runtime::idempotent;
use sqlx::PgConnection;
use std::sync::{Arc, Mutex};

#[idempotent(scope = "endpoint")]
async fn create(_tx: &mut PgConnection, Extension(other): Extension<Arc<Mutex<PgConnection>>>, body: String) -> String {
    drop(other);
    body
}

fn main() {}
