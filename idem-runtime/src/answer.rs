//! The answers that an engine gives, and what it keeps of a handler's.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::response::Parts;
use http_body::Body as _;
use http_body_util::{BodyExt as _, Limited};

use crate::error::Error;
use crate::execute::{Stop, execute};
use crate::fingerprint::Digest;
use crate::idempotency::Inner;
use crate::problem::Problem;
use crate::replay::StoredResponse;
use crate::store::{Cause, Found, Store};

impl<DB: Store> Inner<DB> {
    /// The problem as a response.
    pub(crate) fn problem(&self, problem: Problem) -> Response {
        tracing::debug!(
            code = problem.code(),
            status = problem.status().as_u16(),
            "a request is answered by a problem"
        );
        problem.response(&self.http.problem_base).map(Body::from)
    }

    /// Collects a body within `limit` and keeps what will be replayed. `None` if it is too large, has no known length,
    /// or fails.
    pub(crate) async fn keep(
        &self,
        parts: &Parts,
        body: Body,
        limit: Duration,
    ) -> Option<(StoredResponse, Bytes)> {
        let body = match collect(body, self.http.max_response, limit).await {
            Ok(body) => body,
            Err(why) => {
                tracing::error!(why, "an answer cannot be stored");
                return None;
            }
        };
        Some((StoredResponse::keep(parts, body.clone(), &self.http.replay_headers), body))
    }

    /// Checks the table before the first reservation.
    pub(crate) async fn check_once(&self, connection: &mut DB::Connection) -> Result<(), Problem> {
        self.check(connection).await.map_err(|error| {
            tracing::error!(error = %error, source = std::error::Error::source(&error), "no key can be reserved");
            match error {
                Error::Misconfigured(_) => Problem::StoreMisconfigured,
                Error::Store(error) if Cause::of(&error) == Cause::Misconfigured => Problem::StoreMisconfigured,
                Error::Store(_) => Problem::StoreUnavailable,
            }
        })
    }
}

/// What a live row says to a request with this fingerprint.
pub(crate) fn answer_from(found: &Found, fingerprint: &Digest) -> Result<Response, Problem> {
    match found {
        Found::Completed(row) if row.is_of(fingerprint) => match &row.response {
            Some(response) => Ok(response.clone().into_response().map(Body::from)),
            None => Err(Problem::NeedsReconciliation),
        },
        Found::Completed(_) => Err(Problem::KeyReused),
        Found::Broken(_) => Err(Problem::NeedsReconciliation),
        Found::Collision => {
            tracing::error!("two idempotency keys have the same row id; the second is refused");
            Err(Problem::KeyReused)
        }
    }
}

/// The whole of a body whose length is known beforehand and at most `max` bytes. One without a length is a stream,
/// which may never end.
async fn collect(body: Body, max: usize, limit: Duration) -> Result<Bytes, &'static str> {
    let length = body.size_hint().exact().ok_or("its length is not known, as a stream's")?;
    let Some(length) = usize::try_from(length).ok().filter(|length| *length <= max) else {
        return Err("it is larger than `max_response`");
    };
    // Limited, because the length is only what the body says of itself.
    match execute(limit, Limited::new(body, length).collect()).await {
        Ok(Ok(collected)) => {
            let body = collected.to_bytes();
            if body.len() == length { Ok(body) } else { Err("it is shorter than it said") }
        }
        Ok(Err(_failed)) => Err("its body failed, or is longer than it said"),
        Err(Stop::OverLimit) => Err("its body did not end"),
        Err(Stop::Panicked(_)) => Err("its body panicked"),
    }
}
