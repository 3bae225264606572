//! What a server has answered, whole.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// An answer that arrived whole: status, headers and every byte of the body.
#[derive(Clone)]
pub struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    problem: Option<Problem>,
    /// Why it is not the operation's answer, if it is not.
    pub(crate) flaw: Option<Flaw>,
}

/// Why what a server sent is no answer to the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// It answers another request: reqwest has followed a redirection.
    OfAnother,
    /// Its body is larger than is taken, and was not read to its end.
    TooLarge,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        let problem = Problem::read(&headers, &body);
        Self { status, headers, body, problem, flaw: None }
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body, read as JSON.
    ///
    /// # Errors
    /// If it is not JSON, or not of this type.
    pub fn json<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.body)
    }

    /// Whether it is the recorded answer to an earlier attempt: `Idempotent-Replayed: true`.
    ///
    /// Then the work was done by an attempt whose answer was lost, or for whoever sent the operation before.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.headers
            .get("idempotent-replayed")
            .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
    }

    /// What the server says of an error, if the body is `application/problem+json`.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }
}

/// Without the body, what a problem says to people, and the headers' values, which may be personal.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("is_replay", &self.is_replay())
            .field("code", &self.problem.as_ref().and_then(Problem::code))
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// How an operation ended: with an answer that repeating would not change.
///
/// That is not always success; look at the [status](Answer::status). 401 and 403 speak of the caller, and say nothing
/// of the operation: an earlier attempt may have done it. Renew the credentials, and send the same operation again.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) answer: Answer,
    pub(crate) attempts: u32,
}

impl Outcome {
    /// The answer.
    #[must_use]
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// The answer, to keep.
    #[must_use]
    pub fn into_answer(self) -> Answer {
        self.answer
    }

    /// The answer's status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.answer.status
    }

    /// Whether the answer is the recorded one of an earlier attempt, of this call or of one before.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.answer.is_replay()
    }

    /// How many attempts this call made: 1 if the first was answered.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }
}
