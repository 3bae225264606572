//! The pools of one SQLite file: one writer, some readers.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::Error;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::read_only::ReadOnly;

/// How long another process may hold the file before a statement gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Readers beside the writer; WAL lets them read while it writes.
const READERS: u32 = 4;

/// The pools of one SQLite file: a writer of exactly one connection and a pool of readers.
///
/// SQLite has one writer at a time. A pool of one hands the file out in the order of arrival, where several
/// connections would fight for its lock; so the application's own writes go through [`writer`](Self::writer) as well,
/// and everything that only reads through [`reader`](Self::reader).
///
/// The file is opened in WAL mode with `synchronous = FULL`, so that an answer that was sent survives a loss of
/// power, and waits up to 5 s for another process that holds it.
#[derive(Debug, Clone)]
pub struct SqlitePools {
    writer: SqlitePool,
    reader: SqlitePool,
    commits: Arc<Commits>,
}

impl SqlitePools {
    /// Opens the file that `url` names, `sqlite://orders.db` say; `?mode=rwc` creates it where it is missing.
    ///
    /// # Errors
    /// [`Error::Configuration`] if the URL cannot be read or names a database in memory, which the two pools could
    /// not share; else what opening the file reports.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, it leaves no connection behind.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(SqliteConnectOptions::from_str(url)?).await
    }

    /// Opens the file of `options`, whose journal mode, `synchronous` and time-out are set as the type says.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, it leaves no connection behind.
    pub async fn connect_with(options: SqliteConnectOptions) -> Result<Self, Error> {
        let name = options.get_filename();
        if name.as_os_str().is_empty()
            || name.to_string_lossy().contains(":memory:")
            || is_shared_memory(&options)
        {
            return Err(Error::Configuration(
                "a SQLite database in memory cannot be shared by a writer and a reader: name a file".into(),
            ));
        }
        let options = options
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT);
        let commits = Arc::new(Commits::default());

        let hooked = Arc::clone(&commits);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .after_connect(move |connection, _| {
                let commits = Arc::clone(&hooked);
                Box::pin(async move {
                    let mut handle = connection.lock_handle().await?;
                    handle.set_commit_hook(move || commits.are_allowed());
                    Ok(())
                })
            })
            .connect_with(options.clone())
            .await?;
        let reader =
            SqlitePoolOptions::new().max_connections(READERS).connect_with(options.read_only(true)).await?;
        Ok(Self { writer, reader, commits })
    }

    /// The one connection that writes. A run holds it from BEGIN to COMMIT.
    #[must_use]
    pub fn writer(&self) -> &SqlitePool {
        &self.writer
    }

    /// Connections that have the file open read-only: a write through one fails.
    #[must_use]
    pub fn reader(&self) -> &SqlitePool {
        &self.reader
    }

    /// The [`reader`](Self::reader), for look-ups in an `#[idempotent]` handler.
    #[must_use]
    pub fn read_only(&self) -> ReadOnly<SqlitePool> {
        ReadOnly::opened(self.reader.clone())
    }

    /// Refuses every COMMIT of the writer for as long as the lock lives.
    pub(super) fn lock(&self) -> CommitLock {
        CommitLock::of(&self.commits)
    }
}

/// The URL form of a database in memory, `file:name?mode=memory`, which sqlx rewrites into a file name of its own.
fn is_shared_memory(options: &SqliteConnectOptions) -> bool {
    options.get_filename().to_string_lossy().starts_with("file:sqlx-in-memory")
}

/// Whether the writer may commit.
#[derive(Debug, Default)]
struct Commits {
    /// The run that alone may commit, 0 for none.
    holder: AtomicU64,
    last: AtomicU64,
}

impl Commits {
    fn are_allowed(&self) -> bool {
        self.holder.load(Ordering::SeqCst) == 0
    }
}

/// Only the engine commits while this lives: SQLite turns every other COMMIT into a rollback.
///
/// Taken after BEGIN, dropped right before the engine's own COMMIT, or after its rollback, or once its connection is
/// closed. There is one writer, so one holder is enough.
#[doc(hidden)]
#[derive(Debug)]
pub struct CommitLock {
    commits: Arc<Commits>,
    holder: u64,
}

impl CommitLock {
    fn of(commits: &Arc<Commits>) -> Self {
        let holder = commits.last.fetch_add(1, Ordering::SeqCst) + 1;
        commits.holder.store(holder, Ordering::SeqCst);
        Self { commits: Arc::clone(commits), holder }
    }
}

impl Drop for CommitLock {
    fn drop(&mut self) {
        // A lock that outlives its connection must not open the next run's.
        let _ = self.commits.holder.compare_exchange(self.holder, 0, Ordering::SeqCst, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_commits_while_a_lock_lives() {
        let commits = Arc::new(Commits::default());
        assert!(commits.are_allowed());

        let lock = CommitLock::of(&commits);

        assert!(!commits.are_allowed());
        drop(lock);
        assert!(commits.are_allowed());
    }

    // It opened the file for whatever the next run had under way.
    #[test]
    fn a_lock_that_outlives_its_connection_does_not_open_the_next_ones() {
        let commits = Arc::new(Commits::default());
        let first = CommitLock::of(&commits);
        let second = CommitLock::of(&commits);

        drop(first);

        assert!(!commits.are_allowed());
        drop(second);
        assert!(commits.are_allowed());
    }
}
