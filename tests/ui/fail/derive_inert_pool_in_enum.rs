use idem_runtime::Inert;

#[derive(Inert)]
enum Backend {
    Sql(sqlx::PgPool),
    None,
}

fn main() {}
