//! The client that sends operations.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest_middleware::ClientBuilder;
use reqwest_retry::RetryTransientMiddleware;

use crate::answer::{Flaw, Outcome};
use crate::attempt::Attempts;
use crate::error::{Error, GaveUp, Last, Limit};
use crate::operation::Operation;
use crate::retry::budget::RetryBudget;
use crate::retry::verdict::Verdict;
use crate::retry::{Course, Policy, SoFar, Strategy};
use crate::settings::Settings;

/// Sends operations until they are answered: the same bytes and the same key at every attempt.
///
/// Sent again is what got no whole answer (a connection that failed or broke, a time-out, half a body), 408, 425, 429,
/// 5xx, and a 409 that says that the first request is in progress. Any other answer is final, and so is one that is a
/// replay, or whose problem says so in its member `retry`; the header `Stripe-Should-Retry` is heeded as well.
///
/// A wait is 0.5 s, then twice as long each time up to 30 s, each with a random part; before it comes what the server asks
/// for in `Retry-After`.
///
/// Clones share the connections and the retry budget. It needs a tokio runtime, as reqwest does.
#[derive(Clone)]
pub struct IdempotentClient {
    http: reqwest::Client,
    settings: Settings,
    budget: RetryBudget,
}

impl IdempotentClient {
    /// A client with the default settings.
    ///
    /// The application builds the client of reqwest, and so decides on TLS, proxies, and headers that every request has.
    /// Build it with `redirect(Policy::none())`: a redirection is an answer, and followed, a 302 or 303 brings the answer
    /// to another request, and a 307 sends the key, and credentials that reqwest does not know as such, elsewhere. An
    /// answer from another URL is [`Error::Redirected`]; one that was redirected to its own URL cannot be told from the
    /// operation's. A retry policy of reqwest's own does no harm, since the key is the same, but its retries are neither
    /// counted nor spaced.
    #[must_use]
    pub fn new(http: reqwest::Client) -> Self {
        Self::builder(http).build()
    }

    /// A client with other settings.
    pub fn builder(http: reqwest::Client) -> IdempotentClientBuilder {
        IdempotentClientBuilder { http, settings: Settings::default(), budget: None }
    }

    /// Sends an operation until it has a final answer, or the limits of the settings are reached.
    ///
    /// The answer is in memory, whole. It is final, but need not be success: look at its status.
    ///
    /// # Errors
    /// [`Error::GaveUp`] if no final answer came: the work may have been done, and the operation is to be kept.
    /// [`Error::CredentialsMissing`] and [`Error::TooOld`] before anything is sent. [`Error::Unsendable`] if reqwest
    /// refuses the request. [`Error::Redirected`] if it has followed a redirection, [`Error::AnswerTooLarge`] if the answer's body is longer than
    /// [`max_answer`](IdempotentClientBuilder::max_answer).
    ///
    /// # Cancel safety
    /// Cancel safe in that nothing is lost: the operation is the caller's, and unchanged. An attempt that is under way
    /// is broken off, and the server may carry it out all the same. Send the operation again to learn what became of it.
    pub async fn send(&self, operation: &Operation) -> Result<Outcome, Error> {
        let missing = operation.missing_credentials().cloned().collect::<Vec<_>>();
        if !missing.is_empty() {
            return Err(Error::CredentialsMissing(missing));
        }
        let age = operation.age();
        let left = self.settings.max_age.saturating_sub(age);
        if left.is_zero() {
            return Err(Error::TooOld { age });
        }

        tracing::debug!(
            key = operation.key().as_str(),
            method = operation.method().as_str(),
            host = operation.url().host_str(),
            "an operation is sent"
        );
        let course = Arc::new(Course::new(self.settings, self.budget.clone(), left));
        let retries = RetryTransientMiddleware::new_with_policy_and_strategy(
            Policy(Arc::clone(&course)),
            Strategy(Arc::clone(&course)),
        );
        let attempts = Attempts(Arc::clone(&course));
        let stack = ClientBuilder::new(self.http.clone()).with(retries).with(attempts).build();
        let result = stack.execute(operation.to_request()).await;

        let SoFar { attempts, last, limit, .. } = course.end();
        // The loop itself fails only for a body that it cannot clone, and below the attempts is nothing but reqwest.
        let Some((last, verdict)) = last else { unreachable!("the loop ends behind an attempt: {result:?}") };
        match (last, verdict) {
            (Last::Answer(answer), Verdict::Final) => match answer.flaw {
                None => Ok(Outcome { answer, attempts }),
                Some(Flaw::OfAnother) => Err(Error::Redirected(Box::new(answer))),
                Some(Flaw::TooLarge) => Err(Error::AnswerTooLarge(Box::new(answer))),
            },
            (Last::Failure(error), Verdict::Final) => Err(Error::Unsendable(error)),
            (last, Verdict::Again { .. }) => {
                let limit = limit.unwrap_or(Limit::Time);
                Err(Error::GaveUp(Box::new(GaveUp { operation: operation.clone(), attempts, last, limit })))
            }
        }
    }
}

/// Without reqwest's client, whose default headers may be credentials.
impl fmt::Debug for IdempotentClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { http: _, settings, budget } = self;
        let mut shown = f.debug_struct("IdempotentClient");
        shown.field("settings", settings).field("budget", budget).finish_non_exhaustive()
    }
}

/// The settings of an [`IdempotentClient`].
#[derive(Clone)]
#[must_use = "it makes nothing until `build`"]
pub struct IdempotentClientBuilder {
    http: reqwest::Client,
    settings: Settings,
    budget: Option<RetryBudget>,
}

impl IdempotentClientBuilder {
    /// How long a call goes on: no attempt begins later, and one that has begun is ended. 1 minute if not given, for
    /// a person who waits; a job may take a day. `Duration::MAX` is no limit.
    pub fn total_time(mut self, time: Duration) -> Self {
        self.settings.total_time = time;
        self
    }

    /// How many attempts a call makes, the first included; 0 counts as 1. No limit but the time if not given.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.settings.max_attempts = attempts.max(1);
        self
    }

    /// How long an attempt may take, from the connection's beginning to the answer's last byte. 30 s if not given: load
    /// balancers mostly give up by then.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.settings.attempt_timeout = timeout;
        self
    }

    /// How long to wait before the first retry, and at most before any. Twice as long each time, and of that a random part,
    /// at least half of `first`. 0.5 s and 30 s if not given. Both are at most a day, and `longest` at least
    /// `first`.
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        let day = Duration::from_hours(24);
        self.settings.base_delay = first.min(day);
        self.settings.max_delay = longest.min(day).max(self.settings.base_delay);
        self
    }

    /// How much of a `Retry-After` is obeyed; a longer one is cut to it. 1 minute if not given, as in the official
    /// clients of several APIs: a value that somebody got wrong is not to put an operation off for a day. At most a year.
    ///
    /// A wait that goes beyond `total_time` is not begun: the call gives up at once.
    pub fn max_retry_after(mut self, longest: Duration) -> Self {
        self.settings.max_retry_after = longest.min(Duration::from_hours(365 * 24));
        self
    }

    /// How old an operation's key may be. 23 hours if not given, which is an hour less than most servers remember a key:
    /// when they have forgotten it they do the work again. Set it to what the server promises, less an hour for clocks that
    /// differ. `Duration::MAX` is no limit.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.settings.max_age = age;
        self
    }

    /// The longest body of an answer that is taken, in bytes: it is in memory, whole. 16 MiB if not given. A longer one is
    /// [`Error::AnswerTooLarge`].
    pub fn max_answer(mut self, bytes: usize) -> Self {
        self.settings.max_answer = bytes;
        self
    }

    /// The budget from which retries are taken; one of the client's own if not given. Give the same to several clients
    /// of one server, but not to jobs that try for hours and calls that a person waits for: a job takes its turn in the
    /// queue long before it is due.
    pub fn retry_budget(mut self, budget: RetryBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Makes the client.
    #[must_use]
    pub fn build(self) -> IdempotentClient {
        IdempotentClient { http: self.http, settings: self.settings, budget: self.budget.unwrap_or_default() }
    }
}

/// As the client's.
impl fmt::Debug for IdempotentClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { http: _, settings, budget } = self;
        let mut shown = f.debug_struct("IdempotentClientBuilder");
        shown.field("settings", settings).field("budget", budget).finish_non_exhaustive()
    }
}
