//! `#[fingerprint(with = …)]`: a function says what counts of an argument whose type says nothing.

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::post;
use idem_examples::reference::AppError;
use idem_runtime::{Fingerprinter, idempotent};
use idem_tests::http::r1;
use idem_tests::shape::{order, serve, twice};
use sqlx::SqliteConnection;

struct ApiVersion {
    major: u64,
    minor: u64,
}

impl ApiVersion {
    /// A client may be updated between a request and its retry, but not to another major version.
    fn only_major(&self, into: &mut Fingerprinter) {
        into.json("version", &self.major);
    }
}

impl<S: Sync> FromRequestParts<S> for ApiVersion {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let version = parts.headers.get("x-version").and_then(|version| version.to_str().ok());
        let (major, minor) =
            version.and_then(|version| version.split_once('.')).ok_or(StatusCode::BAD_REQUEST)?;
        let number = |text: &str| text.parse().map_err(|_| StatusCode::BAD_REQUEST);
        Ok(Self { major: number(major)?, minor: number(minor)? })
    }
}

#[idempotent(scope = "endpoint")]
async fn create(
    tx: &mut SqliteConnection,
    #[fingerprint(with = ApiVersion::only_major)] ApiVersion { major, minor }: ApiVersion,
) -> Result<String, AppError> {
    order(tx, "tea").await?;
    Ok(format!("{major}.{minor}"))
}

#[tokio::test]
async fn what_the_function_adds_is_compared() {
    serve(Router::new().route("/orders", post(create)), async |bench, server| {
        let first = twice(server, &r1().set("X-Version", "2.0")).await;
        let minor = server.send(&r1().set("X-Version", "2.1")).await;
        let major = server.send(&r1().set("X-Version", "3.0")).await;

        assert_eq!((first.text(), minor.text(), major.status), ("2.0", "2.0", 422));
        bench.assert_holds(1, 1).await;
    })
    .await;
}
