//! What a test needs of a database beside what the application needs of it.

pub mod pgbouncer;
mod postgres;
mod sqlite;

use std::future::Future;
use std::net::SocketAddr;

use idem_examples::reference::Database;
use idem_runtime::{Builder, ReadOnly};
use sqlx::Pool;

pub use postgres::PgPlace;
pub use sqlite::SqlitePlace;

/// A database that the contract runs on.
pub trait TestDatabase: Database {
    /// Where one test keeps its tables: empty at first, and no other test's.
    type Place: Place<Database = Self>;

    /// Whether a failed statement leaves the transaction unusable (PostgreSQL), or lets it go on (SQLite).
    const ERRORS_ABORT: bool;

    /// Whether two transactions may write at the same time (PostgreSQL), or one after the other (SQLite).
    const WRITES_IN_PARALLEL: bool;

    /// Has a statement fail as one does that lost against another transaction, and returns the driver's
    /// error; where the database knows no such failure, the error of a lost connection.
    fn fail_transiently(connection: &mut Self::Connection) -> impl Future<Output = sqlx::Error> + Send;
}

/// An empty corner of a database.
pub trait Place: Clone + Send + Sync + Sized + 'static {
    /// The database it is in.
    type Database: TestDatabase;

    /// Makes one.
    fn create() -> impl Future<Output = Self> + Send;

    /// The same place, for an application whose pools take every statement for a slow one, and so log it at level WARN.
    #[must_use]
    fn with_every_statement_slow(self) -> Self;

    /// Connects as one more process of the application would, with at most `connections` of them, through
    /// the proxy at `via` if there is one.
    fn connect(
        &self,
        connections: u32,
        via: Option<SocketAddr>,
    ) -> impl Future<Output = Connected<Self::Database>> + Send;

    /// A pool for look-ups, as an application makes it.
    fn lookups(&self) -> impl Future<Output = ReadOnly<Pool<Self::Database>>> + Send;

    /// The test's own connections.
    fn pool(&self) -> &Pool<Self::Database>;

    /// The key rows, in the order of their making.
    fn key_rows(&self) -> impl Future<Output = Vec<KeyRow>> + Send;

    /// Runs one statement on a connection that is not the application's, and returns the number of rows it
    /// touched.
    fn execute(&self, sql: &str) -> impl Future<Output = u64> + Send;

    /// Reads one integer on a connection that is not the application's.
    fn integer(&self, sql: &str) -> impl Future<Output = i64> + Send;

    /// The time by the database's clock, in microseconds since the epoch, as a key row would keep it.
    fn clock(&self) -> impl Future<Output = i64> + Send;

    /// The SQL for a time `seconds` from now, as a key row keeps it.
    fn time(seconds: i64) -> String;

    /// Makes every row expire at the very time, by the clock of its transaction, at which a reservation is
    /// made.
    fn expire_as_reservations_begin(&self) -> impl Future<Output = ()> + Send;

    /// The key table's name, as a statement says it.
    fn key_table(&self) -> String;

    /// The SQL that fills a key table with `count` completed rows, their keys `{prefix}-1` and on, each of which expires
    /// a millisecond after the one before it and the last one `seconds` from now.
    fn filling(table: &str, prefix: &str, count: u32, seconds: i64) -> String;

    /// Has the database refuse to delete the row of this key, until [`deletes_again`](Self::deletes_again).
    fn refuse_to_delete(&self, key: &str) -> impl Future<Output = ()> + Send;

    /// Has it delete every row again.
    fn deletes_again(&self) -> impl Future<Output = ()> + Send;

    /// Asserts that no connection of `pool` is inside a transaction and that all of them can be had.
    fn assert_whole(&self, pool: &Pool<Self::Database>) -> impl Future<Output = ()> + Send;

    /// Asserts that nothing was left outside this place, and removes it.
    fn remove(self) -> impl Future<Output = ()> + Send;
}

/// An empty place of the usual kind.
pub async fn create<DB: TestDatabase>() -> DB::Place {
    DB::Place::create().await
}

/// The pools and the engine of one process of the application.
#[derive(Debug)]
pub struct Connected<DB: TestDatabase> {
    /// The engine's builder, its key table set.
    pub builder: Builder<DB>,
    /// Where handlers without the attribute write.
    pub writer: Pool<DB>,
    /// Where handlers without the attribute read.
    pub reader: Pool<DB>,
}

/// A row of the key table. Times are in microseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns are described in the manual of the table")]
pub struct KeyRow {
    pub id: Vec<u8>,
    pub scope: String,
    pub key: String,
    pub fingerprint: Vec<u8>,
    pub fingerprint_version: i64,
    pub status: Option<i64>,
    pub headers: Option<Vec<u8>>,
    pub body: Option<Vec<u8>>,
    pub created_at: i64,
    pub completed_at: Option<i64>,
    pub expires_at: i64,
}

impl KeyRow {
    /// Whether an answer is stored.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.status.is_some() && self.headers.is_some() && self.body.is_some() && self.completed_at.is_some()
    }

    /// How long the row is kept from its making, in whole seconds.
    #[must_use]
    pub fn ttl_secs(&self) -> i64 {
        (self.expires_at - self.created_at) / 1_000_000
    }
}
