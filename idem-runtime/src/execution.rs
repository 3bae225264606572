//! What a run tells its handler beside the transaction.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::engine::BoxFuture;
use crate::key::IdempotencyKey;
use crate::scope::Scope;
use crate::tasks::Tasks;

/// One run of a handler: its key, its scope, and what is to happen once it has committed.
///
/// A handler takes it as `&Execution`, an argument like any other; it is not an extractor, because there is no run
/// before the key is reserved.
pub struct Execution {
    scope: Scope,
    key: Option<IdempotencyKey>,
    after_commit: Mutex<Vec<BoxFuture<'static, ()>>>,
}

impl Execution {
    pub(crate) fn new(scope: Scope, key: Option<IdempotencyKey>) -> Self {
        Self { scope, key, after_commit: Mutex::default() }
    }

    /// The request's key; `None` for a run without one: the key may be left out and was, the method is safe, or the
    /// engine is off.
    ///
    /// The client's own text, so two tenants may have the same. To call another service, hand it
    /// [`downstream_key`](Self::downstream_key) instead.
    #[must_use]
    pub fn key(&self) -> Option<&IdempotencyKey> {
        self.key.as_ref()
    }

    /// What the key is unique within. For a run without a key, a scope that cannot be resolved is one without parts.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The idempotency key for a call to another service: 64 lowercase hexadecimal digits; `None` for a run without a
    /// key.
    ///
    /// The same for every run of the same key, in every process, so that a call whose transaction was rolled back is
    /// not made a second time by the retry. Another one for another `step`, which names the call among those of the
    /// handler and must not change between versions of it. It rests on the scope and the key, not on the request's
    /// content: a retry with a changed body meets the other service's own refusal instead of a second charge.
    ///
    /// It is SHA-256 over `"idk1"`, f(value) of each part of the scope in order, f(key), f(step), where f(x) is the
    /// length of x in bytes as 32 bits, big-endian, then x.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "axum")] {
    /// use idem_runtime::Execution;
    ///
    /// fn charge_headers(execution: &Execution) -> Option<(&'static str, String)> {
    ///     Some(("idempotency-key", execution.downstream_key("charge")?))
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn downstream_key(&self, step: &str) -> Option<String> {
        self.key.as_ref().map(|key| self.scope.downstream_key(key, step))
    }

    /// Has `work` done once the run has committed, each in a task of its own, in no order among them.
    ///
    /// Dropped unpolled if the run does not commit: it rolls back, panics, runs too long, or the database refuses the
    /// COMMIT. A replay runs no handler, so nothing of it happens again. [`KeepWrites`](crate::KeepWrites) commits, and
    /// so does a success without a key.
    ///
    /// At most once: a process that ends after COMMIT takes it along, as does a drain that has waited long enough. What
    /// must not be lost belongs into an outbox table that the transaction writes. It does not hold up the answer, has
    /// no limit in time, and [`drain`](crate::Idempotency::drain) waits for it. A panic in it is logged.
    pub fn after_commit<F>(&self, work: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.queue().push(Box::pin(work));
    }

    /// Begins what was queued: COMMIT is acknowledged.
    pub(crate) fn committed(&self, tasks: &Tasks) {
        let queued = std::mem::take(&mut *self.queue());
        for work in queued {
            tasks.spawn(work);
        }
    }

    /// Nothing panics while it holds the lock.
    fn queue(&self) -> MutexGuard<'_, Vec<BoxFuture<'static, ()>>> {
        self.after_commit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        // What is dropped is the application's own and may panic, but its run must still end its transaction.
        for work in std::mem::take(&mut *self.queue()) {
            if catch_unwind(AssertUnwindSafe(|| drop(work))).is_err() {
                tracing::error!("work that was queued for after COMMIT panicked when it was dropped");
            }
        }
    }
}

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("scope", &self.scope.text())
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn execution(tenant: &str, key: &str) -> Execution {
        let scope = Scope::new().with("tenant", tenant).unwrap().endpoint("POST", "/orders").unwrap();
        Execution::new(scope, Some(IdempotencyKey::new(key).unwrap()))
    }

    // Cases: K-07
    #[test]
    fn a_downstream_key_is_the_published_one() {
        let execution = execution("t1", "k-0001");

        assert_eq!(
            execution.downstream_key("charge").as_deref(),
            Some("4371f1b6b0b00528a9e635c6d3f60150b104511c6cb6bc65c82fb6a389b2dd5e")
        );
        assert_eq!(
            execution.downstream_key("refund").as_deref(),
            Some("59f0be2908eec67ec9fa1e501924e1290a6542bb2bcc8b670d8d8354caff83a2")
        );
    }

    // Cases: K-06
    #[test]
    fn the_downstream_key_of_the_longest_key_has_64_characters() {
        let longest = "k".repeat(IdempotencyKey::MAX_LEN);

        let key = execution("t1", &longest).downstream_key("charge").unwrap();

        assert_eq!(key.len(), 64);
        assert!(key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    }

    #[test]
    fn without_a_key_there_is_no_downstream_key() {
        assert_eq!(Execution::new(Scope::global(), None).downstream_key("charge"), None);
    }

    #[test]
    fn an_execution_that_is_logged_shows_its_scope_and_not_its_key() {
        let shown = format!("{:?}", execution("t1", "jane.doe@example.com"));

        assert!(shown.contains("tenant=t1") && !shown.contains("jane"), "{shown}");
    }

    struct PanicsWhenDropped;

    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn queued_work_that_panics_when_it_is_dropped_hurts_nobody() {
        let execution = execution("t1", "k");
        let held = PanicsWhenDropped;
        execution.after_commit(async move { drop(held) });

        drop(execution);
    }

    #[test]
    fn queued_work_is_done_once_and_a_panic_in_it_hurts_nobody() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let done = Arc::new(AtomicUsize::new(0));
        let execution = execution("t1", "k");
        for number in 0..3 {
            let done = Arc::clone(&done);
            execution.after_commit(async move {
                assert_ne!(number, 1, "the second panics");
                done.fetch_add(1, Ordering::SeqCst);
            });
        }

        runtime.block_on(async {
            let tasks = Tasks::default();
            execution.committed(&tasks);
            execution.committed(&tasks);
            assert_eq!(tasks.drain(Duration::from_secs(20)).await, 0);
        });

        assert_eq!(done.load(Ordering::SeqCst), 2);
    }
}
