use idem_runtime::idempotent;
use sqlx::PgConnection;

thread_local! {
    static STORE: std::cell::Cell<Option<&'static mut PgConnection>> = const { std::cell::Cell::new(None) };
}

#[idempotent(scope = "endpoint")]
async fn create(tx: &mut PgConnection, body: String) -> String {
    STORE.with(|store| store.set(Some(tx)));
    body
}

fn main() {}
