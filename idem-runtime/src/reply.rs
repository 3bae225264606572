//! How an answer is put into words: the one place where answers leave the engine.

use std::fmt;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue};

use crate::answer::Answer;
use crate::builder::HttpSettings;
use crate::idempotency::Inner;
use crate::key::{IdempotencyKey, Syntax};
use crate::problem::{Problem, Terms};
use crate::replay::{STRIPE_SHOULD_RETRY, StoredResponse};
use crate::store::Store;

/// What of a request shows in its answer.
pub(crate) struct Reply<DB: Store> {
    engine: Arc<Inner<DB>>,
    terms: Terms,
    /// Whether the request has a key that is looked at.
    is_keyed: bool,
    /// The key, if the answer is to name it.
    key: Option<IdempotencyKey>,
    /// How the key is read when it comes again.
    syntax: Syntax,
}

impl<DB: Store> Reply<DB> {
    pub(crate) fn new(
        engine: Arc<Inner<DB>>,
        terms: Terms,
        key: Option<&IdempotencyKey>,
        syntax: Syntax,
    ) -> Self {
        let is_keyed = key.is_some();
        let key = key.filter(|_| engine.http.echoes_key()).cloned();
        Self { engine, terms, is_keyed, key, syntax }
    }

    /// The response.
    pub(crate) fn give(self, answer: Answer) -> Response {
        let mut response = match answer {
            Answer::First(response, _) => self.first(response),
            Answer::Replay(stored) => self.replay(stored),
            Answer::Problem(problem) => self.problem(problem),
        };
        // The key, in the field that it came in.
        if let (Some(name), Some(key)) = (self.terms.key.header(), &self.key) {
            response.headers_mut().insert(name, key.to_field(self.syntax));
        }
        response
    }

    fn first(&self, mut response: Response) -> Response {
        if self.is_keyed {
            self.mark(&mut response, false);
        }
        response
    }

    fn mark(&self, response: &mut Response, is_replay: bool) {
        let marker = &self.engine.http.marker;
        if let Some(value) = marker.value(is_replay) {
            response.headers_mut().insert(marker.name.clone(), value);
        }
    }

    fn replay(&self, stored: StoredResponse) -> Response {
        let mut response = stored.into_response().map(Body::from);
        self.mark(&mut response, true);
        if self.engine.http.wording.shape.is_stripe() {
            // A stored 500 would be asked for again and again.
            response.headers_mut().insert(STRIPE_SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        response
    }

    fn problem(&self, problem: Problem) -> Response {
        let Self { engine, terms, key, .. } = self;
        tracing::debug!(
            code = problem.code(terms),
            status = problem.status(terms).as_u16(),
            "a request is answered by a problem"
        );
        let wording = &engine.http.wording;
        let Some(mut custom) = problem.custom_response(wording, terms) else {
            return problem.response(wording, terms, key.as_ref()).map(Body::from);
        };
        custom.headers_mut().remove(&engine.http.marker.name);
        custom
    }
}

impl HttpSettings {
    /// Takes off a handler's answer what the engine says of answers itself: there it is about another run, whose answer
    /// the handler passes on.
    pub(crate) fn strip(&self, headers: &mut HeaderMap, terms: &Terms) {
        let mark = headers.remove(&self.marker.name);
        if mark.is_some_and(|says| says == "true") {
            headers.remove(STRIPE_SHOULD_RETRY);
        }
        if self.echoes_key()
            && let Some(name) = terms.key.header()
        {
            headers.remove(name);
        }
    }
}

impl<DB: Store> fmt::Debug for Reply<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("terms", &self.terms).finish_non_exhaustive()
    }
}
