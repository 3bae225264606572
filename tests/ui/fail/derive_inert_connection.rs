use idem_runtime::Inert;

#[derive(Inert)]
struct AppState {
    connection: std::sync::Arc<std::sync::Mutex<sqlx::PgConnection>>,
}

fn main() {}
