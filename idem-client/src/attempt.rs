//! One attempt, below the loop: it ends when the last byte of the answer is there, or will not come.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::Extensions;
use reqwest::{Request, Response, Url};
use reqwest_middleware::{Error as MiddlewareError, Middleware, Next};

use crate::answer::{Answer, Flaw};
use crate::retry::Course;

/// Carries attempts out, and notes in the course of the operation what they bring.
#[derive(Debug)]
pub(crate) struct Attempts(pub(crate) Arc<Course>);

#[async_trait]
impl Middleware for Attempts {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        // The loop asks the strategy, which asks the course; it does not look into this.
        let nothing = Response::from(http::Response::new(""));
        let Some((attempt, timeout)) = self.0.begin() else { return Ok(nothing) };
        let outcome = match exchange(request, timeout, self.0.max_answer(), extensions, next).await {
            Ok(outcome) => Ok(outcome),
            // Its query may hold what is not to be logged.
            Err(MiddlewareError::Reqwest(error)) => Err(error.without_url()),
            // There is no other middleware below.
            Err(error @ MiddlewareError::Middleware(_)) => return Err(error),
        };
        match &outcome {
            Ok(answer) => tracing::debug!(
                attempt,
                status = answer.status().as_u16(),
                replayed = answer.is_replay(),
                "the operation was answered"
            ),
            Err(error) => tracing::debug!(attempt, ?error, "the operation got no whole answer"),
        }
        self.0.note(outcome);
        Ok(nothing)
    }
}

/// Sends the request, and reads the whole answer, within `timeout`; of a body that is longer than `longest` bytes, nothing.
async fn exchange(
    mut request: Request,
    timeout: Duration,
    longest: usize,
    extensions: &mut Extensions,
    next: Next<'_>,
) -> reqwest_middleware::Result<Answer> {
    // Of reqwest: from the connection's beginning to the end of the answer's body.
    *request.timeout_mut() = Some(timeout);
    let asked = without_fragment(request.url());
    let mut response = next.run(request, extensions).await?;
    let is_of_another = without_fragment(response.url()) != asked;
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let body = collect(&mut response, longest).await?;
    let is_too_large = body.is_none();
    let mut answer = Answer::new(status, headers, body.unwrap_or_default());
    answer.flaw = match (is_of_another, is_too_large) {
        (true, _) => Some(Flaw::OfAnother),
        (false, true) => Some(Flaw::TooLarge),
        (false, false) => None,
    };
    Ok(answer)
}

/// The whole body; `None` as soon as it is longer than `longest` bytes.
async fn collect(response: &mut Response, longest: usize) -> reqwest::Result<Option<Bytes>> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > longest - body.len() {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body.freeze()))
}

/// A URL as far as it is sent.
fn without_fragment(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_fragment(None);
    url
}
