use idem_runtime::Inert;

#[derive(Inert)]
struct AppState {
    #[inert]
    pool: sqlx::PgPool,
}

fn main() {}
