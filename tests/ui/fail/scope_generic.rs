use axum::Extension;
use idem_runtime::idempotent;
use sqlx::PgConnection;

#[idempotent(scope = "who,endpoint")]
async fn create<T: Clone + Sync + idem_runtime::Inert>(_tx: &mut PgConnection, Extension(who): Extension<T>, body: String) -> String {
    let _ = who;
    body
}

fn main() {}
