use axum::extract::FromRequestParts;
use axum::http::{StatusCode, request::Parts};
use idem_runtime::Policy;

struct Session;

impl<S: Sync> FromRequestParts<S> for Session {
    type Rejection = StatusCode;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        Err(StatusCode::UNAUTHORIZED)
    }
}

#[derive(Policy)]
#[policy(scope = "endpoint")]
struct PublicApi {
    session: Session,
}

fn main() {}
