//! How many retries all operations may make together, so that a server in trouble is not given more to do.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What an operation that was answered adds: one retry for every five of them.
const DEPOSIT: f64 = 0.2;

/// A budget of retries that operations share: a token bucket.
///
/// A retry takes one token. So many tokens come back each second, and a fifth of one with each operation that is
/// answered for good. While there are none, retries wait for their turn; one whose turn would come after its
/// operation's time is not made ([`Limit::Budget`](crate::Limit::Budget)). First attempts cost nothing, nor does a retry
/// whose call is dropped while it waits.
///
/// By default 10 retries a second, 100 at once: with the fifth of all operations these are the figures of Finagle's
/// `RetryBudget` (20 % of requests on top of 10 retries a second, saved for up to 10 seconds:
/// <https://finagle.github.io/blog/2016/02/08/retry-budgets>).
///
/// Clones are the same budget. A client has one of its own unless it is given one.
#[derive(Clone, Debug)]
pub struct RetryBudget(Option<Arc<Mutex<Bucket>>>);

#[derive(Debug)]
struct Bucket {
    /// Below zero: so many retries are waiting for their turn.
    tokens: f64,
    /// When `tokens` was true.
    at: Instant,
    per_second: f64,
    burst: f64,
}

impl Bucket {
    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.per_second).min(self.burst);
        self.at = now;
    }
}

impl RetryBudget {
    /// A budget of this many retries a second, of which up to `burst` may be saved, and made at once. Zero retries
    /// a second are one every ten seconds; a `burst` of zero is one of 1.
    #[must_use]
    pub fn new(retries_per_second: u32, burst: u32) -> Self {
        let per_second = f64::from(retries_per_second).max(0.1);
        let burst = f64::from(burst.max(1));
        Self(Some(Arc::new(Mutex::new(Bucket { tokens: burst, at: Instant::now(), per_second, burst }))))
    }

    /// No limit. Only for a server that is not shared with others, and for tests.
    #[must_use]
    pub fn unlimited() -> Self {
        Self(None)
    }

    /// Takes a token. Says how long to wait for it, or nothing, and takes none, if that is longer than `longest`.
    pub(crate) fn take(&self, now: Instant, longest: Duration) -> Option<Duration> {
        let Some(bucket) = &self.0 else { return Some(Duration::ZERO) };
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.refill(now);
        let tokens = bucket.tokens - 1.0;
        let wait =
            Duration::try_from_secs_f64((-tokens).max(0.0) / bucket.per_second).unwrap_or(Duration::MAX);
        if wait > longest {
            return None;
        }
        bucket.tokens = tokens;
        Some(wait)
    }

    /// Notes that an operation was answered for good.
    pub(crate) fn deposit(&self, now: Instant) {
        self.add(DEPOSIT, now);
    }

    /// Gives a token back whose retry was not made.
    pub(crate) fn give_back(&self, now: Instant) {
        self.add(1.0, now);
    }

    fn add(&self, tokens: f64, now: Instant) {
        if let Some(bucket) = &self.0 {
            let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            bucket.refill(now);
            bucket.tokens = (bucket.tokens + tokens).min(bucket.burst);
        }
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::new(10, 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    fn take_times(budget: &RetryBudget, times: usize, now: Instant) -> Vec<Duration> {
        (0..times).map(|_| budget.take(now, LONG).unwrap()).collect()
    }

    #[test]
    fn what_is_saved_may_be_spent_at_once_and_then_retries_wait_their_turn() {
        let (budget, now) = (RetryBudget::new(10, 3), Instant::now());

        let waits = take_times(&budget, 6, now);

        assert_eq!(waits[..3], [Duration::ZERO; 3]);
        assert_eq!(waits[3..], [100, 200, 300].map(Duration::from_millis));
    }

    #[test]
    fn tokens_come_back_with_time_up_to_what_may_be_saved() {
        let (budget, now) = (RetryBudget::new(10, 3), Instant::now());
        take_times(&budget, 3, now);

        let waits = take_times(&budget, 4, now + LONG);

        assert_eq!(waits, [Duration::ZERO, Duration::ZERO, Duration::ZERO, Duration::from_millis(100)]);
    }

    #[test]
    fn five_answered_operations_are_a_retry() {
        let (budget, now) = (RetryBudget::new(1, 1), Instant::now());
        take_times(&budget, 1, now);
        for _ in 0..5 {
            budget.deposit(now);
        }

        assert!(budget.take(now, Duration::from_millis(1)).is_some());
        assert!(budget.take(now, Duration::from_millis(1)).is_none());
    }

    #[test]
    fn a_turn_that_comes_too_late_is_left_to_others() {
        let (budget, now) = (RetryBudget::new(1, 1), Instant::now());
        take_times(&budget, 2, now);

        assert_eq!(budget.take(now, Duration::from_secs(1)), None);
        assert_eq!(budget.take(now, Duration::from_secs(2)), Some(Duration::from_secs(2)));
    }

    #[test]
    fn clones_share_and_no_limit_is_none() {
        let (budget, now) = (RetryBudget::new(1, 1), Instant::now());
        take_times(&budget.clone(), 1, now);

        assert_eq!(budget.take(now, Duration::ZERO), None);
        assert_eq!(take_times(&RetryBudget::unlimited(), 1000, now), [Duration::ZERO; 1000]);
    }
}
