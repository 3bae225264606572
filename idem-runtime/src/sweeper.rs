//! The sweeper: expired key rows are deleted in small batches, now or again and again.
//!
//! Nothing else depends on it. An expired row counts as absent, and a request that finds one takes it over.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument as _;
use tracing::instrument::WithSubscriber as _;

use crate::error::Error;
use crate::held::Held;
use crate::idempotency::{Idempotency, Inner};
use crate::jitter::Jitter;
use crate::observed;
use crate::store::{Cause, Store, shown};

const EVERY: Duration = Duration::from_mins(1);

const LONGEST_EVERY: Duration = Duration::from_hours(24);

const SHORTEST_EVERY: Duration = Duration::from_millis(10);

/// A server holds the rows of a batch, and SQLite the file, until the batch is over.
const LARGEST_BATCH: u32 = 10_000;

/// How long the database may take for a batch.
const BATCH_LIMIT: Duration = Duration::from_secs(10);

/// How many times as long as a batch took the pause after it is. One request in ten then meets a batch, and the mean and
/// 95 of 100 requests are about as fast as without a sweeper (`tests/benches/sweep.rs`). The slowest of 100 were up to 2.6
/// times as slow on SQLite, and no faster with a pause of nineteen times.
const PAUSE_FACTOR: u32 = 9;

/// Deletes the rows of expired keys, in batches. Made by [`Idempotency::sweeper`].
///
/// A batch is a transaction of its own, on a connection that goes back to the pool afterwards, and is followed by a
/// pause nine times as long as itself. It takes the rows that expired first, and passes over those that others have
/// locked, so any number of sweepers may run, in one process or several, beside any number of requests. A pass goes on
/// until a batch finds fewer rows than it may take.
///
/// On PostgreSQL its role needs `DELETE` on the table, which requests do not.
///
/// # Examples
/// ```
/// # #[cfg(feature = "postgres")] mod example {
/// use std::time::Duration;
///
/// use idem_runtime::Idempotency;
/// use sqlx::Postgres;
///
/// async fn serve(idempotency: Idempotency<Postgres>) {
///     let sweeping = idempotency.sweeper().every(Duration::from_secs(300)).start();
///     // … serve until told to stop, then:
///     sweeping.stop().await;
/// }
/// # }
/// ```
#[must_use = "a sweeper does nothing until it is started"]
pub struct Sweeper<DB: Store> {
    engine: Idempotency<DB>,
    every: Duration,
    batch: u32,
}

impl<DB: Store> Sweeper<DB> {
    pub(crate) fn new(engine: Idempotency<DB>) -> Self {
        Self { engine, every: EVERY, batch: DB::SWEEP_BATCH }
    }

    /// How long it is from the end of one pass to the next, give or take a tenth; 10 ms to 24 h, where one out of this
    /// range counts as the nearest within, and 60 s if not given.
    pub fn every(mut self, interval: Duration) -> Self {
        self.every = interval.clamp(SHORTEST_EVERY, LONGEST_EVERY);
        self
    }

    /// How many rows a batch may take, 1 to 10 000, where one out of this range counts as the nearest within; if not
    /// given, 1 000 on PostgreSQL, and 50 on SQLite, where everybody who writes waits for the batch.
    pub fn batch(mut self, rows: u32) -> Self {
        self.batch = rows.clamp(1, LARGEST_BATCH);
        self
    }

    /// Sweeps in a task of its own, now and then, until it is [stopped](SweeperHandle::stop), or its handle dropped, or
    /// the engine gone or drained.
    ///
    /// The first pass begins after a random part of the interval, so that processes that were started together do not
    /// sweep together. A pass that fails, because the database is away for example, is logged as a warning, and the
    /// next one is made in its time. The builder's `enabled(false)` does not stop it, and `wrap_tasks` does not wrap it.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(self) -> SweeperHandle {
        let stop = self.engine.0.sweepers.child_token();
        let sweeping = sweep_every(Arc::downgrade(&self.engine.0), self.every, self.batch, stop.clone());
        let task = tokio::spawn(sweeping.in_current_span().with_current_subscriber());
        SweeperHandle { stop: stop.drop_guard(), task }
    }

    /// Makes one pass, at once, for applications that schedule their own work, and gives the number of rows deleted.
    ///
    /// # Errors
    /// [`Error::Store`] if the database refuses a batch, cannot be reached, or has no connection free within the
    /// builder's `acquire_timeout`. The batches before stay deleted.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, the batch in progress is deleted or it is not, those before it stay so, and the
    /// connection is closed.
    pub async fn sweep_once(&self) -> Result<u64, Error> {
        // Nobody stops it but the caller, who drops it.
        let stop = CancellationToken::new();
        // Boxed, or whoever calls it has room for all of sqlx's futures.
        Box::pin(pass(&Arc::downgrade(&self.engine.0), self.batch, &stop)).await
    }
}

impl<DB: Store> fmt::Debug for Sweeper<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, every, batch } = self;
        f.debug_struct("Sweeper").field("engine", engine).field("every", every).field("batch", batch).finish()
    }
}

/// A sweeper at work, as long as this lives.
///
/// Dropped, it ends as with [`stop`](Self::stop), and nobody waits for it.
#[must_use = "a sweeper ends when its handle is dropped"]
#[derive(Debug)]
pub struct SweeperHandle {
    stop: DropGuard,
    task: JoinHandle<()>,
}

impl SweeperHandle {
    /// Ends the sweeper, in the middle of a pass too, once the batch in progress is over; the rest is left for the next
    /// one. At most 10 s, the longest that a batch is waited for.
    ///
    /// # Cancel safety
    /// Dropped, the sweeper ends all the same.
    pub async fn stop(self) {
        drop(self.stop);
        // It does not panic, and a runtime that shuts down has ended it already.
        drop(self.task.await);
    }

    /// Whether the sweeper has ended: its engine was drained, or dropped in all its clones.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

/// Sweeps until it is stopped. Between two batches it keeps the engine no more alive than its own handles do.
async fn sweep_every<DB: Store>(
    engine: Weak<Inner<DB>>,
    every: Duration,
    batch: u32,
    stop: CancellationToken,
) {
    let mut jitter = Jitter::default();
    let mut pause = jitter.between(Duration::ZERO, every);
    while stop.run_until_cancelled(sleep(pause)).await.is_some() {
        match pass(&engine, batch, &stop).await {
            Ok(rows) => tracing::debug!(rows, "expired idempotency keys were swept"),
            // Another transaction was in the way: nothing that anybody has to do something about.
            Err(Error::Store(error)) if Cause::of(&error) == Cause::Conflict => {
                tracing::debug!(error = %shown(&error), "a batch of expired idempotency keys is left for the next pass");
            }
            Err(Error::Store(error)) => {
                tracing::warn!(error = %shown(&error), "expired idempotency keys cannot be swept now");
            }
            Err(error) => tracing::warn!(%error, "expired idempotency keys cannot be swept now"),
        }
        let tenth = every / 10;
        pause = jitter.between(every.saturating_sub(tenth), every + tenth);
    }
}

/// Deletes batch after batch until one is not full, or it is stopped between two.
async fn pass<DB: Store>(
    engine: &Weak<Inner<DB>>,
    batch: u32,
    stop: &CancellationToken,
) -> Result<u64, Error> {
    let mut swept = 0;
    loop {
        let Some(engine) = engine.upgrade() else { return Ok(swept) };
        let Some(held) = stop.run_until_cancelled(engine.take_connection()).await else {
            return Ok(swept);
        };
        let held = held?;
        let begun = Instant::now();
        let rows = engine.sweep(held, batch).await?;
        let pause = begun.elapsed() * PAUSE_FACTOR;
        drop(engine);
        swept += rows;
        let is_over = rows < u64::from(batch);
        if is_over || stop.run_until_cancelled(sleep(pause)).await.is_none() {
            return Ok(swept);
        }
    }
}

impl<DB: Store> Inner<DB> {
    /// Deletes one batch and gives the connection back, or closes it if it is not known to have ended well.
    async fn sweep(&self, mut held: Held<DB>, batch: u32) -> Result<u64, Error> {
        let swept = timeout(BATCH_LIMIT, DB::sweep(held.connection(), &self.statements, batch)).await;
        let rows = swept.map_err(|elapsed| sqlx::Error::Io(elapsed.into()))??;
        observed::swept(rows);
        held.release().await;
        Ok(rows)
    }
}
