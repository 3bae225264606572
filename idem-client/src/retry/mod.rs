//! When an operation is sent again, and how long.
//!
//! The loop is that of reqwest-retry. Of its two seams, the strategy sees an answer before its body is read, and the
//! policy sees no answer at all, so neither can obey a problem, a `Retry-After` or a budget by itself. Here both are
//! made anew for each call, around one [`Course`] that they share with the middleware below them (`attempt.rs`): that one
//! reads the body, judges, and notes the verdict; the strategy and the policy only speak for the course. So what
//! is retried, and when, is decided in plain functions, and an answer that breaks off is a failed attempt like any other.

mod after;
pub(crate) mod budget;
pub(crate) mod verdict;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use reqwest::Response;
use reqwest_middleware::Error as MiddlewareError;
use reqwest_retry::policies::ExponentialBackoff;
use reqwest_retry::{Jitter, RetryDecision, RetryPolicy, Retryable, RetryableStrategy};
use tokio::time::Instant;

use self::budget::RetryBudget;
use self::verdict::Verdict;
use crate::answer::Answer;
use crate::clock;
use crate::error::{Last, Limit};
use crate::settings::Settings;

/// What one call has come to: shared by the loop's strategy and policy, and by the attempts below.
#[derive(Debug)]
pub(crate) struct Course {
    settings: Settings,
    budget: RetryBudget,
    /// No attempt begins after it, and one that has begun ends.
    deadline: Option<Instant>,
    /// When the key is too old, by the clock on the wall: the other one stands still while the machine sleeps.
    too_old_at: Option<SystemTime>,
    so_far: Mutex<SoFar>,
}

/// What the attempts of a call have brought.
#[derive(Debug, Default)]
pub(crate) struct SoFar {
    /// How many there were.
    pub(crate) attempts: u32,
    /// What the last one brought.
    pub(crate) last: Option<(Last, Verdict)>,
    /// Why there is none after it.
    pub(crate) limit: Option<Limit>,
    /// A token was taken for an attempt that has not begun.
    waits_for_turn: bool,
}

impl Course {
    /// The course of an operation that may be sent for `left` of its age.
    pub(crate) fn new(settings: Settings, budget: RetryBudget, left: Duration) -> Self {
        // A time beyond what a clock can say is none.
        let deadline = Instant::now().checked_add(settings.total_time.min(left));
        let too_old_at = clock::now().checked_add(left);
        Self { settings, budget, deadline, too_old_at, so_far: Mutex::default() }
    }

    fn so_far(&self) -> MutexGuard<'_, SoFar> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The longest body of an answer that is taken, in bytes.
    pub(crate) fn max_answer(&self) -> usize {
        self.settings.max_answer
    }

    /// Counts one more attempt. Says which one it is, and how long it may take; nothing, and counts none, if the key has
    /// become too old since the last.
    pub(crate) fn begin(&self) -> Option<(u32, Duration)> {
        let mut so_far = self.so_far();
        if so_far.attempts > 0 && self.is_too_old() {
            return None;
        }
        so_far.attempts = so_far.attempts.saturating_add(1);
        so_far.waits_for_turn = false;
        Some((so_far.attempts, self.settings.attempt_timeout.min(self.left(Instant::now()))))
    }

    fn is_too_old(&self) -> bool {
        self.too_old_at.is_some_and(|too_old_at| clock::now() >= too_old_at)
    }

    /// Judges what an attempt has brought, and notes it.
    pub(crate) fn note(&self, attempt: Result<Answer, reqwest::Error>) -> Verdict {
        let (last, verdict) = match attempt {
            Ok(answer) => {
                let verdict = Verdict::of_answer(&answer, clock::now());
                (Last::Answer(answer), verdict)
            }
            Err(error) => {
                let verdict = Verdict::of_error(&error);
                (Last::Failure(error), verdict)
            }
        };
        if verdict == Verdict::Final {
            self.budget.deposit(Instant::now());
        }
        self.so_far().last = Some((last, verdict));
        verdict
    }

    /// What it has all come to.
    pub(crate) fn end(&self) -> SoFar {
        std::mem::take(&mut self.so_far())
    }

    fn left(&self, now: Instant) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(now))
    }

    /// How long to wait before the next attempt, of which the first retry is number 0; or why there is none.
    fn next(&self, retry: u32, asked: Option<Duration>) -> Result<Duration, Limit> {
        if retry.saturating_add(1) >= self.settings.max_attempts {
            return Err(Limit::Attempts);
        }
        // What the server asks for comes first, and the random part after it: all clients that were told the same
        // would come back at the same time.
        let asked = asked.unwrap_or_default().min(self.settings.max_retry_after);
        let wait = asked.saturating_add(self.backoff(retry));
        let now = Instant::now();
        let left = self.left(now);
        if wait >= left || self.is_too_old() {
            return Err(Limit::Time);
        }
        let turn = self.budget.take(now, left).ok_or(Limit::Budget)?;
        self.so_far().waits_for_turn = true;
        Ok(wait.max(turn))
    }

    /// The exponential back-off of reqwest-retry, with its random part.
    fn backoff(&self, retry: u32) -> Duration {
        let Settings { base_delay, max_delay, .. } = self.settings;
        let policy =
            ExponentialBackoff::builder().retry_bounds(base_delay, max_delay).jitter(Jitter::Bounded);
        let now = clock::now();
        match policy.build_with_max_retries(u32::MAX).should_retry(now, retry) {
            RetryDecision::Retry { execute_after } => execute_after.duration_since(now).unwrap_or_default(),
            RetryDecision::DoNotRetry => max_delay,
        }
    }
}

/// A call that is dropped while it waits leaves its turn to others.
impl Drop for Course {
    fn drop(&mut self) {
        let waits_for_turn = self.so_far().waits_for_turn;
        if waits_for_turn {
            self.budget.give_back(Instant::now());
        }
    }
}

/// Says to the loop whether the last attempt is a reason for another.
#[derive(Debug)]
pub(crate) struct Strategy(pub(crate) Arc<Course>);

impl RetryableStrategy for Strategy {
    fn handle(&self, _: &Result<Response, MiddlewareError>) -> Option<Retryable> {
        match self.0.so_far().last {
            Some((_, Verdict::Again { .. })) => Some(Retryable::Transient),
            _ => None,
        }
    }
}

/// Says to the loop when there is another attempt.
#[derive(Debug)]
pub(crate) struct Policy(pub(crate) Arc<Course>);

impl RetryPolicy for Policy {
    fn should_retry(&self, _: SystemTime, past_retries: u32) -> RetryDecision {
        let asked = match self.0.so_far().last {
            Some((_, Verdict::Again { asked })) => asked,
            _ => None,
        };
        match self.0.next(past_retries, asked) {
            Ok(wait) => {
                tracing::debug!(retry = past_retries + 1, ?wait, "the operation will be sent again");
                RetryDecision::Retry { execute_after: clock::now() + wait }
            }
            Err(limit) => {
                self.0.so_far().limit = Some(limit);
                RetryDecision::DoNotRetry
            }
        }
    }
}
