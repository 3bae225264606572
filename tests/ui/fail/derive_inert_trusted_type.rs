use idem_runtime::Inert;

#[derive(Inert)]
#[inert(trusted)]
struct AppState {
    pool: sqlx::PgPool,
}

fn main() {}
