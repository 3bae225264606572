//! The tasks that do the work from BEGIN to COMMIT.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Instrument as _;
use tracing::instrument::WithSubscriber as _;

use crate::execute::{Stop, execute_unlimited};
use crate::held::END_LIMIT;

/// The running tasks of one engine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    wrapper: Wrapper,
    tracker: TaskTracker,
    stop: CancellationToken,
    is_draining: AtomicBool,
    /// Cancelled right after the flag is set, for those who wait.
    drain: CancellationToken,
}

/// The future of a task, as [`Builder::wrap_tasks`](crate::Builder::wrap_tasks) is given it.
pub type TaskFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What the application puts around the tasks.
#[derive(Clone, Default)]
pub(crate) struct Wrapper(Option<Arc<dyn Fn(TaskFuture) -> TaskFuture + Send + Sync>>);

impl Wrapper {
    pub(crate) fn new(wrap: impl Fn(TaskFuture) -> TaskFuture + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(wrap)))
    }

    fn wrap(&self, task: TaskFuture) -> TaskFuture {
        match &self.0 {
            Some(wrap) => wrap(task),
            None => task,
        }
    }
}

impl Tasks {
    pub(crate) fn new(wrapper: Wrapper) -> Self {
        Self(Arc::new(Inner { wrapper, ..Inner::default() }))
    }

    /// Counts a request as running before its task is there; `None` once the engine drains.
    pub(crate) fn admit(&self) -> Option<TaskTrackerToken> {
        // Counted before the look at the flag, so that a drain either sees this request or refuses it.
        let token = self.0.tracker.token();
        (!self.are_draining()).then_some(token)
    }

    /// Whether nothing new is admitted.
    pub(crate) fn are_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::SeqCst)
    }

    /// `waiting`, or `None` once the engine drains.
    pub(crate) async fn until_draining<F: Future>(&self, waiting: F) -> Option<F::Output> {
        self.0.drain.run_until_cancelled(waiting).await
    }

    /// Whether a drain has dropped what was running: nothing may begin any more.
    pub(crate) fn are_stopped(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// Runs `work` to its end, whatever becomes of the caller.
    ///
    /// `None` if a drain or the runtime's shutdown dropped it: then nobody knows its outcome. A panic of `work` goes
    /// on in the caller, where a layer such as `CatchPanicLayer` expects it.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, `work` goes on in its task.
    pub(crate) async fn run<F, T>(&self, work: F) -> Option<T>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let (sender, mut receiver) = oneshot::channel();
        let work = self.0.stop.clone().run_until_cancelled_owned(work);
        let task = self.0.wrapper.wrap(Box::pin(async move {
            if let Some(finished) = work.await {
                // Nobody receives it once the caller is gone.
                drop(sender.send(finished));
            }
        }));
        match self.0.tracker.spawn(task.in_current_span().with_current_subscriber()).await {
            // Nothing was sent by a task that was stopped, or that its wrapper dropped.
            Ok(()) => receiver.try_recv().ok(),
            Err(stopped) => match stopped.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_cancelled) => None,
            },
        }
    }

    /// Has `work` done in a task of its own that a drain waits for. A panic of it is logged.
    pub(crate) fn spawn<F>(&self, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let work = self.0.stop.clone().run_until_cancelled_owned(execute_unlimited(work));
        let logged = async {
            match work.await {
                Some(Ok(())) => {}
                Some(Err(Stop::Panicked(panic))) => {
                    tracing::error!("work after COMMIT panicked");
                    tell(&*panic);
                }
                Some(Err(Stop::OverLimit)) | None => {
                    tracing::warn!("work after COMMIT was dropped by a drain");
                }
            }
        };
        // The wrapper is the application's own and may panic, but what has committed must be answered.
        match catch_unwind(AssertUnwindSafe(|| self.0.wrapper.wrap(Box::pin(logged)))) {
            Ok(task) => drop(self.0.tracker.spawn(task.in_current_span().with_current_subscriber())),
            Err(panic) => {
                tracing::error!("the wrapper of a task panicked, so its work is not done");
                tell(&*panic);
            }
        }
    }

    /// Refuses new requests, waits up to `limit` for the running ones and drops the rest. Gives the number dropped.
    pub(crate) async fn drain(&self, limit: Duration) -> usize {
        self.0.is_draining.store(true, Ordering::SeqCst);
        self.0.drain.cancel();
        self.0.tracker.close();
        if tokio::time::timeout(limit, self.0.tracker.wait()).await.is_ok() {
            return 0;
        }
        let dropped = self.0.tracker.len();
        self.0.stop.cancel();
        // A dropped run closes its connection, which rolls its transaction back; that takes a moment.
        drop(tokio::time::timeout(END_LIMIT, self.0.tracker.wait()).await);
        dropped
    }
}

/// Says what a panic says, if it says it in text: the application's own, which may name anything. The process's panic
/// hook has seen it.
fn tell(panic: &(dyn Any + Send)) {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::debug!(panic = text.unwrap_or("no text"), "a panic in full");
}

impl fmt::Debug for Wrapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Wrapper").field(&self.0.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(work)
    }

    #[test]
    fn nothing_is_admitted_once_it_drains_and_nothing_begins_once_it_has_stopped() {
        block_on(async {
            let tasks = Tasks::default();
            assert_eq!(tasks.drain(Duration::ZERO).await, 0);
            assert!(tasks.admit().is_none());
            assert!(!tasks.are_stopped(), "there was nothing to stop");

            let waiting = Tasks::default();
            let token = waiting.admit();
            let mut drain = pin!(waiting.drain(Duration::ZERO));
            let limit = Duration::from_millis(100);
            assert!(tokio::time::timeout(limit, &mut drain).await.is_err(), "the request is still there");
            assert!(waiting.are_stopped());
            drop(token);
            assert_eq!(drain.await, 1);
        });
    }

    /// A wrapper that polls what it is given and counts.
    fn counting() -> (Wrapper, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let wrapper = Wrapper::new(move |task| {
            counted.fetch_add(1, Ordering::SeqCst);
            task
        });
        (wrapper, count)
    }

    #[test]
    fn a_wrapper_is_around_runs_and_what_comes_after_them() {
        let (wrapper, count) = counting();
        block_on(async {
            let tasks = Tasks::new(wrapper);

            assert_eq!(tasks.run(async { 7 }).await, Some(7));
            tasks.spawn(async {});

            assert_eq!(tasks.drain(Duration::from_secs(20)).await, 0);
        });
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_task_that_its_wrapper_drops_has_no_outcome() {
        block_on(async {
            let tasks = Tasks::new(Wrapper::new(|task| {
                drop(task);
                Box::pin(async {})
            }));

            assert_eq!(tasks.run(async { 7 }).await, None);
        });
    }

    #[test]
    #[should_panic(expected = "the handler's own")]
    fn a_panic_goes_on_in_the_caller_through_the_wrapper() {
        let (wrapper, _) = counting();
        block_on(async { Tasks::new(wrapper).run(async { panic!("the handler's own") }).await });
    }

    #[test]
    fn a_wrapper_that_panics_after_commit_hurts_nobody() {
        block_on(async {
            let tasks = Tasks::new(Wrapper::new(|_| panic!("wrapping")));

            tasks.spawn(async {});

            assert_eq!(tasks.drain(Duration::from_secs(20)).await, 0);
        });
    }
}
