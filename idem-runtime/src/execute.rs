//! EXECUTE: the handler's future, bounded in time, its panic caught.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Sleep;

/// Why a handler's future has no value.
#[doc(hidden)]
pub enum Stop {
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
#[doc(hidden)]
pub fn execute<F: Future>(limit: Duration, work: F) -> Execute<F> {
    Execute { work: Box::pin(work), limit: Box::pin(tokio::time::sleep(limit)) }
}

/// The future of [`execute`].
#[doc(hidden)]
pub struct Execute<F> {
    work: Pin<Box<F>>,
    limit: Pin<Box<Sleep>>,
}

impl<F: Future> Future for Execute<F> {
    type Output = Result<F::Output, Stop>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // Unwind safe: after a panic the future is only dropped, and its transaction is rolled back.
        match catch_unwind(AssertUnwindSafe(|| this.work.as_mut().poll(context))) {
            Err(panic) => Poll::Ready(Err(Stop::Panicked(panic))),
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Ok(Poll::Pending) => this.limit.as_mut().poll(context).map(|()| Err(Stop::OverLimit)),
        }
    }
}

impl<F> fmt::Debug for Execute<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execute").finish_non_exhaustive()
    }
}
