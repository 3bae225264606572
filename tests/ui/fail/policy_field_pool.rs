use axum::extract::State;
use idem_runtime::Policy;

#[derive(Policy)]
#[policy(scope = "endpoint")]
struct PublicApi {
    pool: State<sqlx::PgPool>,
}

fn main() {}
