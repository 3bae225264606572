//! The seam between the engine and a database.
//!
//! [`Store`] is what the engine asks of a database, one method for each statement of a request's life. The two
//! implementations have their items in this order, so that a diff of the files reads as the difference of the
//! databases.

mod address;
mod cause;
#[cfg(feature = "postgres")]
mod postgres;
mod row;
mod shown;
#[cfg(feature = "sqlite")]
mod sqlite;
mod table;

use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{Database, Error, SqlStr};

pub(crate) use self::address::{Address, KeyText};
pub(crate) use self::cause::Cause;
pub(crate) use self::row::Found;
pub use self::row::KeyRow;
pub(crate) use self::shown::shown;
#[cfg(feature = "sqlite")]
pub use self::sqlite::SqlitePools;
pub(crate) use self::table::Table;
pub use self::table::TableNameError;
use crate::fingerprint::Digest;
use crate::replay::StoredResponse;

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A database that can hold key rows: [`sqlx::Postgres`] or [`sqlx::Sqlite`].
///
/// Sealed: the engine's guarantees rest on what was measured of these databases, so the trait is not for
/// implementing outside this crate. Its items are not part of the stable interface.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold idempotency keys",
    label = "expected `sqlx::Postgres` or `sqlx::Sqlite`",
    note = "the stores are behind the features `postgres` and `sqlite` of idem-runtime"
)]
pub trait Store: Database + sealed::Sealed {
    /// The pools the application hands to the builder.
    #[doc(hidden)]
    type Pools: Clone + Debug + Send + Sync + 'static;
    /// The statements, built once from the table's name.
    #[doc(hidden)]
    type Statements: Debug + Send + Sync + 'static;
    /// Where the reserved row is and what proves that this transaction wrote it.
    #[doc(hidden)]
    type Mark: Debug + Send + Sync + 'static;
    /// Held from BEGIN to COMMIT; while it lives only the engine may commit, where the database can enforce it.
    #[doc(hidden)]
    type Lock: Debug + Send + 'static;

    /// The schema of a table that is named without one.
    #[doc(hidden)]
    const DEFAULT_SCHEMA: &'static str;

    /// How many rows a batch of the sweeper has if it is not told.
    #[doc(hidden)]
    const SWEEP_BATCH: u32;

    #[doc(hidden)]
    fn statements(settings: &Settings) -> Self::Statements;

    /// The statement that opens a run's transaction; without a level, at the session's own.
    #[doc(hidden)]
    fn begin(isolation: Option<Isolation>) -> SqlStr;

    /// The same for a run without a key, which has no reserving statement to say its time to the server and to leave a
    /// mark for [`probe`](Self::probe).
    #[doc(hidden)]
    fn begin_without_key(isolation: Option<Isolation>, run_limit: Duration) -> SqlStr;

    /// Creates the table where it is missing. Safe from several processes at once.
    #[doc(hidden)]
    fn migrate(pools: &Self::Pools, settings: &Settings) -> impl Future<Output = Result<(), Error>> + Send;

    /// Reads how the table differs from what the guarantees need; `None` if it does not.
    #[doc(hidden)]
    fn check<'c>(
        connection: &'c mut Self::Connection,
        settings: &'c Settings,
    ) -> impl Future<Output = Result<Option<String>, Error>> + Send + 'c;

    /// Takes the connection a run will own.
    #[doc(hidden)]
    fn acquire(pools: &Self::Pools) -> impl Future<Output = Result<PoolConnection<Self>, Error>> + Send;

    /// Takes a connection that need not write.
    #[doc(hidden)]
    fn acquire_reader(
        pools: &Self::Pools,
    ) -> impl Future<Output = Result<PoolConnection<Self>, Error>> + Send;

    #[doc(hidden)]
    fn lock(pools: &Self::Pools) -> Self::Lock;

    /// RESERVE: the first statement of the transaction, whose BEGIN was sent after `begun`.
    #[doc(hidden)]
    fn reserve<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
        request: &'c KeyRequest,
        begun: Instant,
    ) -> impl Future<Output = Result<Reserve<Self::Mark>, Error>> + Send + 'c;

    /// RECORD: writes the answer into the reserved row, in the transaction that reserved it.
    #[doc(hidden)]
    fn complete<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
        request: &'c KeyRequest,
        mark: &'c Self::Mark,
        answer: &'c StoredResponse,
    ) -> impl Future<Output = Result<Complete, Error>> + Send + 'c;

    /// What became of the transaction while the handler had it; `mark` is what reserving it returned, if it did.
    #[doc(hidden)]
    fn probe<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
        mark: Option<&'c Self::Mark>,
    ) -> impl Future<Output = Result<Probe, Error>> + Send + 'c;

    /// Whether ROLLBACK failed because nothing is left to roll back, and nothing can have been committed.
    #[doc(hidden)]
    fn is_rolled_back(error: &Error) -> bool;

    /// Leaves a row without an answer for a key whose handler ended the transaction itself: what it wrote may
    /// stay, so no other request may run. Ends whatever is open on the connection.
    #[doc(hidden)]
    fn mark_broken<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
        request: &'c KeyRequest,
        mark: &'c Self::Mark,
    ) -> impl Future<Output = Result<(), Error>> + Send + 'c;

    /// Stores the answer of a run that was rolled back, outside any transaction. `true` if the row was written.
    #[doc(hidden)]
    fn store_failed<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
        request: &'c KeyRequest,
        mark: &'c Self::Mark,
        answer: &'c StoredResponse,
    ) -> impl Future<Output = Result<bool, Error>> + Send + 'c;

    /// Claims a message in the transaction that is open, of which `begun` says when its BEGIN was sent if that was the
    /// engine's. Waits for another transaction that holds the message, where two can write at once.
    #[doc(hidden)]
    fn claim<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
        message: &'c MessageRequest,
        begun: Option<Instant>,
    ) -> impl Future<Output = Result<Claimed, Error>> + Send + 'c;

    /// What became of a transaction in which messages were claimed; `first` is the first of them, where it is known.
    #[doc(hidden)]
    fn probe_claims<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
        first: Option<&'c Address>,
    ) -> impl Future<Output = Result<Probe, Error>> + Send + 'c;

    /// Has sqlx count no transaction any more where none is open: one that begins by itself would find the connection in
    /// the pool as if it were inside one.
    #[doc(hidden)]
    fn count_none(connection: &mut Self::Connection) -> impl Future<Output = Result<(), Error>> + Send + '_;

    /// Reads the live row of the key, if there is one.
    #[doc(hidden)]
    fn find<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
        address: &'c Address,
    ) -> impl Future<Output = Result<Option<Found>, Error>> + Send + 'c;

    /// Deletes the row of the key. `true` if there was one.
    #[doc(hidden)]
    fn forget<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
        address: &'c Address,
    ) -> impl Future<Output = Result<bool, Error>> + Send + 'c;

    /// SWEEP: deletes up to `limit` expired rows in a transaction of its own, and gives their number.
    #[doc(hidden)]
    fn sweep<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
        limit: u32,
    ) -> impl Future<Output = Result<u64, Error>> + Send + 'c;

    /// Reads from the table, and whether the server takes writes, as far as a connection that need not write can tell.
    #[doc(hidden)]
    fn takes_writes<'c>(
        connection: &'c mut Self::Connection,
        statements: &'c Self::Statements,
    ) -> impl Future<Output = Result<bool, Error>> + Send + 'c;
}

/// What a builder takes as its database: a [`sqlx::PgPool`], or the pools of one SQLite file.
///
/// Sealed, like [`Store`].
pub trait Source: sealed::Sealed {
    /// The database behind the pools.
    type Database: Store;
    /// The pools as the store keeps them.
    #[doc(hidden)]
    fn into_pools(self) -> <Self::Database as Store>::Pools;
}

/// What the builder settles about a store.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Settings {
    pub(crate) table: Table,
    pub(crate) advisory_locks: bool,
    pub(crate) xmin_check: bool,
    pub(crate) prepared_statements: bool,
}

/// The isolation level of a handler's transaction.
///
/// The attribute opens the transaction with the reserving statement, so a handler cannot set the level itself any
/// more (PostgreSQL refuses with SQLSTATE 25001); the builder's option does. On SQLite every transaction is
/// serializable, whatever is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// `READ COMMITTED`
    ReadCommitted,
    /// `REPEATABLE READ`
    RepeatableRead,
    /// `SERIALIZABLE`
    Serializable,
}

/// What a request wants of its key row.
#[doc(hidden)]
#[derive(Debug)]
pub struct KeyRequest {
    pub(crate) address: Address,
    pub(crate) fingerprint: Digest,
    /// The TTL in seconds.
    pub(crate) ttl_secs: u64,
    /// How long the run may take, which the server is told where it can end a run.
    pub(crate) run_limit: Duration,
}

/// What a consumer wants of the row of a message.
#[doc(hidden)]
#[derive(Debug)]
pub struct MessageRequest {
    pub(crate) address: Address,
    /// The TTL in seconds.
    pub(crate) ttl_secs: u64,
    /// How long another transaction that holds the message is waited for.
    pub(crate) wait: Duration,
}

/// What became of a claim.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// This transaction has claimed the message.
    Fresh,
    /// The message has a live row already.
    Duplicate,
    /// Another transaction holds the message.
    InProgress,
    /// The row belongs to another message, or to a key, with the same id.
    Collision,
    /// The transaction is older than its BEGIN: the connection came from the pool with one open (sqlx issue 4385).
    Foreign,
    /// The database has ended the transaction by itself, and sqlx has not seen it.
    NoTransaction,
}

impl Claimed {
    /// As it stands in logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Duplicate => "duplicate",
            Self::InProgress => "in_progress",
            Self::Collision => "collision",
            Self::Foreign => "foreign",
            Self::NoTransaction => "no_transaction",
        }
    }
}

/// What became of a reserving statement.
#[doc(hidden)]
#[derive(Debug)]
pub enum Reserve<Mark> {
    /// This transaction reserved the key.
    Fresh(Mark),
    /// The key has a live row already.
    Found(Found),
    /// Another transaction holds the key.
    InProgress,
    /// The row went away between the conflict and the read: begin again.
    Vanished,
    /// The transaction is older than its BEGIN: the connection came from the pool with one open (sqlx issue 4385).
    Foreign,
}

/// The status as the table keeps it.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
fn status_number(answer: &StoredResponse) -> i16 {
    // Three digits (RFC 9110, 15), so it always fits.
    answer.status().as_u16().cast_signed()
}

/// What became of a transaction while the handler had it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// It is the one that was begun, and works.
    Own,
    /// A statement has failed, and the database refuses all others.
    Aborted,
    /// The handler has ended it.
    Lost,
}

/// What became of a completing statement.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complete {
    /// Exactly one row was written.
    Recorded,
    /// The row is gone, and the transaction is still the one that reserved it.
    RowLost,
    /// The transaction is no longer the one that reserved the row.
    TransactionLost,
}
