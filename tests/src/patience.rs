//! Waiting that ends: nothing in these tests waits without a limit, and a limit that is met fails the test.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// How long a test waits for something that is expected at once. Generous, because the machine may be busy;
/// it only costs time when the test fails anyway.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Waits for `future`, at most [`LIMIT`].
///
/// # Panics
/// The future panics when the limit is met, naming the caller's line.
#[track_caller]
pub fn soon<F: Future>(future: F) -> impl Future<Output = F::Output> {
    within(LIMIT, future)
}

/// Waits for `future`, at most `limit`.
///
/// # Panics
/// The future panics when the limit is met, naming the caller's line.
#[track_caller]
pub fn within<F: Future>(limit: Duration, future: F) -> impl Future<Output = F::Output> {
    let caller = Location::caller();
    async move {
        let Ok(output) = timeout(limit, future).await else {
            panic!("nothing happened within {limit:?}, waited for at {caller}")
        };
        output
    }
}

/// Asks `condition` again and again until it holds, at most [`LIMIT`].
///
/// Only for the state of another process, such as the database server, that nobody is told of.
///
/// # Panics
/// The future panics when the limit is met, naming the caller's line.
#[track_caller]
pub fn eventually<C, F>(mut condition: C) -> impl Future<Output = ()>
where
    C: FnMut() -> F,
    F: Future<Output = bool>,
{
    let caller = Location::caller();
    async move {
        let end = Instant::now() + LIMIT;
        while !condition().await {
            assert!(Instant::now() < end, "still not so after {LIMIT:?}, asked for at {caller}");
            sleep(Duration::from_millis(5)).await;
        }
    }
}
