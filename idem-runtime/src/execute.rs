//! EXECUTE: the handler's future, bounded in time, its panic caught.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Why a handler's future has no value.
pub(crate) enum Stop {
    /// It panicked; the panic goes on once the rollback is acknowledged.
    Panicked(Box<dyn Any + Send>),
    /// It ran longer than the run limit.
    OverLimit,
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Panicked(_) => "Panicked",
            Self::OverLimit => "OverLimit",
        })
    }
}

/// Runs `work` for at most `limit`.
///
/// # Cancel safety
/// Dropped, it drops `work`.
pub(crate) fn execute<F: Future>(limit: Duration, work: F) -> Execute<F> {
    Execute { work: Some(Box::pin(work)), limit: Some(Box::pin(tokio::time::sleep(limit))) }
}

/// Runs `work` to its end, however long that takes.
///
/// # Cancel safety
/// Dropped, it drops `work`.
pub(crate) fn execute_unlimited<F: Future>(work: F) -> Execute<F> {
    Execute { work: Some(Box::pin(work)), limit: None }
}

/// The future of [`execute`].
pub(crate) struct Execute<F> {
    /// `None` once it has ended.
    work: Option<Pin<Box<F>>>,
    limit: Option<Pin<Box<Sleep>>>,
}

impl<F> Execute<F> {
    fn is_over(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.deadline() <= Instant::now())
    }
}

impl<F: Future> Future for Execute<F> {
    type Output = Result<F::Output, Stop>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let work = this.work.as_mut().expect("it has not ended");
        // Unwind safe: after a panic the future is only dropped, and its transaction is rolled back.
        let ended = match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Err(panic) => Err(Stop::Panicked(panic)),
            // It may have blocked beyond its limit, and the key may have expired meanwhile.
            Ok(Poll::Ready(value)) if this.is_over() => {
                match catch_unwind(AssertUnwindSafe(|| drop(value))) {
                    Ok(()) => Err(Stop::OverLimit),
                    Err(panic) => Err(Stop::Panicked(panic)),
                }
            }
            Ok(Poll::Ready(value)) => Ok(value),
            Ok(Poll::Pending) => {
                let Some(limit) = &mut this.limit else { return Poll::Pending };
                ready!(limit.as_mut().poll(context));
                Err(Stop::OverLimit)
            }
        };
        // Dropped here, because what it drops with it may panic as well.
        match catch_unwind(AssertUnwindSafe(|| drop(this.work.take()))) {
            Ok(()) => Poll::Ready(ended),
            Err(panic) => Poll::Ready(Err(Stop::Panicked(panic))),
        }
    }
}

impl<F> fmt::Debug for Execute<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execute").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    /// A limit that no test meets unless it means to.
    const LIMIT: Duration = Duration::from_secs(20);

    fn run<F: Future>(limit: Duration, work: F) -> Result<F::Output, Stop> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async { execute(limit, work).await })
    }

    struct PanicsWhenDropped;

    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn a_value_is_given_as_it_is() {
        assert!(matches!(run(LIMIT, async { 7 }), Ok(7)));
    }

    #[test]
    fn a_future_that_never_ends_is_over_its_limit() {
        assert!(matches!(run(Duration::ZERO, pending::<()>()), Err(Stop::OverLimit)));
    }

    // Its row was committed after it had expired, and a retry at once ran.
    #[test]
    fn a_value_that_comes_over_the_limit_is_none() {
        let limit = Duration::from_millis(1);

        let until = std::time::Instant::now() + 2 * limit;
        let blocking = async {
            while std::time::Instant::now() < until {
                std::hint::spin_loop();
            }
        };

        assert!(matches!(run(limit, blocking), Err(Stop::OverLimit)));
    }

    #[test]
    fn a_panic_is_caught() {
        assert!(matches!(run(LIMIT, async { panic!("polled") }), Err::<(), _>(Stop::Panicked(_))));
    }

    // It went on in the task, which then ended without its ROLLBACK.
    #[test]
    fn a_panic_of_what_is_dropped_over_the_limit_is_caught() {
        let work = async {
            let _held = PanicsWhenDropped;
            pending::<()>().await;
        };

        assert!(matches!(run(Duration::ZERO, work), Err(Stop::Panicked(_))));
    }
}
