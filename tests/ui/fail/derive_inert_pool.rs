use idem_runtime::Inert;

#[derive(Inert)]
struct AppState {
    name: String,
    pool: sqlx::PgPool,
}

fn main() {}
