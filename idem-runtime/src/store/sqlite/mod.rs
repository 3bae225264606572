//! Key rows in SQLite, 3.37 or newer.
//!
//! One writer holds the file from BEGIN IMMEDIATE to COMMIT, so a duplicate of another process waits for the file and
//! then finds the row; inside a process the map of running keys answers it at once.

mod pools;
mod sql;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow, SqliteTransactionManager};
use sqlx::{AssertSqlSafe, Connection, Error, Executor, Row, SqlSafeStr, SqlStr, Sqlite};
use sqlx_core::transaction::TransactionManager;

use self::pools::CommitLock;
pub use self::pools::SqlitePools;
use self::sql::{MARK_CLAIM, RELEASE_CLAIM, Sql};
use super::table::IndexSchema;
use super::{
    Address, Claimed, Complete, Found, Isolation, KeyRequest, KeyRow, MessageRequest, Probe, Reserve,
    Settings, Source, Store, Table, sealed, status_number,
};
use crate::fingerprint::FORMAT_VERSION;
use crate::limits::RETRIES;
use crate::replay::StoredResponse;

const CREATE: &str = include_str!("../../../migrations/sqlite/0001_create_idempotency_keys.up.sql");

/// Where a reserved row is.
#[doc(hidden)]
#[derive(Debug)]
pub struct Mark {
    rowid: i64,
    created_at_millis: i64,
}

/// The statements of one table.
#[doc(hidden)]
#[derive(Debug)]
pub struct Statements {
    reserve: Arc<str>,
    complete: Arc<str>,
    store_failed: Arc<str>,
    claim: Arc<str>,
    find: Arc<str>,
    forget: Arc<str>,
    sweep: Arc<str>,
    takes_writes: Arc<str>,
}

impl sealed::Sealed for Sqlite {}
impl sealed::Sealed for SqlitePools {}

impl Source for SqlitePools {
    type Database = Sqlite;

    fn into_pools(self) -> Self {
        self
    }
}

impl Store for Sqlite {
    type Pools = SqlitePools;
    type Statements = Statements;
    type Mark = Mark;
    type Lock = CommitLock;

    const DEFAULT_SCHEMA: &'static str = "main";
    // The writer is held meanwhile, and every request that writes waits for it.
    const SWEEP_BATCH: u32 = 50;

    fn statements(settings: &Settings) -> Statements {
        let sql = Sql { table: settings.table.qualified() };
        Statements {
            reserve: sql.reserve().into(),
            complete: sql.complete().into(),
            store_failed: sql.store_failed().into(),
            claim: sql.claim().into(),
            find: sql.find().into(),
            forget: sql.forget().into(),
            sweep: sql.sweep().into(),
            takes_writes: sql.takes_writes().into(),
        }
    }

    fn begin(_: Option<Isolation>) -> SqlStr {
        // A transaction that reads first and writes later fails at once if another wrote in between
        // (SQLITE_BUSY_SNAPSHOT), whatever the time-out: take the write lock from the start.
        "BEGIN IMMEDIATE".into_sql_str()
    }

    fn begin_without_key(isolation: Option<Isolation>, _: Duration) -> SqlStr {
        Self::begin(isolation)
    }

    async fn migrate(pools: &SqlitePools, settings: &Settings) -> Result<(), Error> {
        let script = settings.table.migration(CREATE, IndexSchema::OnTheIndex);
        let mut connection = pools.writer().acquire().await?;
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut *transaction).await?;
        #[expect(clippy::disallowed_methods, reason = "every statement of the transaction succeeded")]
        transaction.commit().await
    }

    async fn check(connection: &mut SqliteConnection, settings: &Settings) -> Result<Option<String>, Error> {
        check(connection, &settings.table).await
    }

    async fn acquire(pools: &SqlitePools) -> Result<PoolConnection<Sqlite>, Error> {
        pools.writer().acquire().await
    }

    async fn acquire_reader(pools: &SqlitePools) -> Result<PoolConnection<Sqlite>, Error> {
        pools.reader().acquire().await
    }

    fn lock(pools: &SqlitePools) -> CommitLock {
        pools.lock()
    }

    async fn reserve(
        connection: &mut SqliteConnection,
        statements: &Statements,
        request: &KeyRequest,
        _begun: Instant,
    ) -> Result<Reserve<Mark>, Error> {
        let row = reserving(&statements.reserve, request)?.fetch_optional(&mut *connection).await?;
        if let Some(row) = row {
            return Ok(Reserve::Fresh(Mark {
                rowid: row.try_get("rowid")?,
                created_at_millis: row.try_get("created_at")?,
            }));
        }
        let row = query(&statements.find).bind(&request.address.id[..]).fetch_optional(connection).await?;
        row.map_or(Ok(Reserve::Vanished), |row| found(&row, &request.address).map(Reserve::Found))
    }

    async fn complete(
        connection: &mut SqliteConnection,
        statements: &Statements,
        request: &KeyRequest,
        mark: &Mark,
        answer: &StoredResponse,
    ) -> Result<Complete, Error> {
        let completed = query(&statements.complete)
            .bind(mark.rowid)
            .bind(&request.address.id[..])
            .bind(status_number(answer))
            .bind(answer.encode_headers())
            .bind(&answer.body()[..])
            .execute(connection)
            .await?;
        // The commit lock let nobody commit the row, so one that is gone was rolled back or deleted.
        Ok(if completed.rows_affected() == 1 { Complete::Recorded } else { Complete::RowLost })
    }

    async fn probe(_: &mut SqliteConnection, _: &Statements, _: Option<&Mark>) -> Result<Probe, Error> {
        // A failed statement is undone by itself and leaves the transaction usable; and one that the handler ended
        // was rolled back, since the commit lock refuses its COMMIT and those of what it writes afterwards.
        Ok(Probe::Own)
    }

    fn is_rolled_back(error: &Error) -> bool {
        // A conflict clause (`OR ROLLBACK`), a trigger, or a full disk has ended the transaction.
        matches!(error, Error::Database(error) if error.message().contains("no transaction is active"))
    }

    async fn mark_broken(
        _: &mut SqliteConnection,
        _: &Statements,
        _: &KeyRequest,
        _: &Mark,
    ) -> Result<(), Error> {
        // Nothing can have been committed.
        Ok(())
    }

    async fn store_failed(
        connection: &mut SqliteConnection,
        statements: &Statements,
        request: &KeyRequest,
        mark: &Mark,
        answer: &StoredResponse,
    ) -> Result<bool, Error> {
        let stored = reserving(&statements.store_failed, request)?
            .bind(mark.created_at_millis)
            .bind(status_number(answer))
            .bind(answer.encode_headers())
            .bind(&answer.body()[..])
            .execute(connection)
            .await?;
        Ok(stored.rows_affected() == 1)
    }

    async fn claim(
        connection: &mut SqliteConnection,
        statements: &Statements,
        message: &MessageRequest,
        begun: Option<Instant>,
    ) -> Result<Claimed, Error> {
        // The engine's own transactions are guarded by the commit lock.
        if begun.is_none() && !is_in_transaction(connection).await? {
            return Ok(Claimed::NoTransaction);
        }
        for _ in 0..=RETRIES {
            let claim = query(&statements.claim)
                .bind(&message.address.id[..])
                .bind(&message.address.scope)
                .bind(message.address.key.as_str())
                .bind(FORMAT_VERSION)
                .bind(millis(message.ttl_secs)?);
            if claim.execute(&mut *connection).await?.rows_affected() == 1 {
                if begun.is_some() {
                    connection.execute(MARK_CLAIM).await?;
                }
                return Ok(Claimed::Fresh);
            }
            match Self::find(connection, statements, &message.address).await? {
                Some(Found::Collision) => return Ok(Claimed::Collision),
                Some(_) => return Ok(Claimed::Duplicate),
                // It has expired since.
                None => {}
            }
        }
        Ok(Claimed::InProgress)
    }

    async fn probe_claims(
        connection: &mut SqliteConnection,
        _: &Statements,
        first: Option<&Address>,
    ) -> Result<Probe, Error> {
        // Where it is not known, the COMMIT of a transaction that is over fails.
        if first.is_none() {
            return Ok(Probe::Own);
        }
        // A transaction that was begun after the claim has no such savepoint, whatever else is like it.
        match connection.execute(RELEASE_CLAIM).await {
            Ok(_) => Ok(Probe::Own),
            Err(Error::Database(_)) => Ok(Probe::Lost),
            Err(error) => Err(error),
        }
    }

    async fn count_none(connection: &mut SqliteConnection) -> Result<(), Error> {
        let depth = SqliteTransactionManager::get_transaction_depth(connection);
        if depth == 0 || is_in_transaction(connection).await? {
            return Ok(());
        }
        // sqlx counts a ROLLBACK only if it succeeds, so there has to be what it rolls back.
        connection.execute("BEGIN").await?;
        for depth in (1..=depth).rev() {
            if depth > 1 {
                let name = format!("SAVEPOINT _sqlx_savepoint_{}", depth - 1);
                connection.execute(AssertSqlSafe(name)).await?;
            }
            SqliteTransactionManager::rollback(connection).await?;
        }
        Ok(())
    }

    async fn find(
        connection: &mut SqliteConnection,
        statements: &Statements,
        address: &Address,
    ) -> Result<Option<Found>, Error> {
        let row = query(&statements.find).bind(&address.id[..]).fetch_optional(connection).await?;
        row.map(|row| found(&row, address)).transpose()
    }

    async fn forget(
        connection: &mut SqliteConnection,
        statements: &Statements,
        address: &Address,
    ) -> Result<bool, Error> {
        let forgotten = query(&statements.forget)
            .bind(&address.id[..])
            .bind(&address.scope)
            .bind(address.key.as_str())
            .execute(connection)
            .await?;
        Ok(forgotten.rows_affected() == 1)
    }

    async fn sweep(
        connection: &mut SqliteConnection,
        statements: &Statements,
        limit: u32,
    ) -> Result<u64, Error> {
        Ok(query(&statements.sweep).bind(limit).execute(connection).await?.rows_affected())
    }

    async fn takes_writes(connection: &mut SqliteConnection, statements: &Statements) -> Result<bool, Error> {
        query(&statements.takes_writes).fetch_one(connection).await?.try_get("takes_writes")
    }
}

fn query(sql: &Arc<str>) -> Query<'static, Sqlite, SqliteArguments> {
    sqlx::query(AssertSqlSafe(Arc::clone(sql)))
}

/// A statement with the six parameters that all reserving statements share.
fn reserving<'q>(
    sql: &Arc<str>,
    request: &'q KeyRequest,
) -> Result<Query<'q, Sqlite, SqliteArguments>, Error> {
    Ok(query(sql)
        .bind(&request.address.id[..])
        .bind(&request.address.scope)
        .bind(request.address.key.as_str())
        .bind(&request.fingerprint.as_bytes()[..])
        .bind(FORMAT_VERSION)
        .bind(millis(request.ttl_secs)?))
}

/// Whether a transaction is open, whatever sqlx counts: SQLite ends one by itself when a disk is full, by a conflict
/// clause (`OR ROLLBACK`), or by a trigger, and commits each statement that comes after by itself.
async fn is_in_transaction(connection: &mut SqliteConnection) -> Result<bool, Error> {
    match connection.execute("BEGIN").await {
        Ok(_) => {
            connection.execute("ROLLBACK").await?;
            Ok(false)
        }
        Err(Error::Database(error)) if error.message().contains("within a transaction") => Ok(true),
        Err(error) => Err(error),
    }
}

/// A TTL in milliseconds.
fn millis(ttl_secs: u64) -> Result<i64, Error> {
    i64::try_from(ttl_secs)
        .ok()
        .and_then(|secs| secs.checked_mul(1000))
        .ok_or_else(|| Error::InvalidArgument("the TTL is out of range".to_owned()))
}

/// Reads a row that is live.
fn found(row: &SqliteRow, address: &Address) -> Result<Found, Error> {
    if row.try_get::<&str, _>("scope")? != address.scope
        || row.try_get::<&str, _>("key")? != address.key.as_str()
    {
        return Ok(Found::Collision);
    }
    let response = match row.try_get::<Option<i16>, _>("response_status")? {
        None => None,
        Some(status) => {
            let headers: Vec<u8> = row.try_get("response_headers")?;
            let body: Vec<u8> = row.try_get("response_body")?;
            Some(
                StoredResponse::decode(status, &headers, body)
                    .map_err(|error| Error::Decode(error.into()))?,
            )
        }
    };
    Ok(Found::of(KeyRow {
        fingerprint: row.try_get("fingerprint")?,
        fingerprint_version: row.try_get("fingerprint_version")?,
        response,
        created_at_micros: row.try_get::<i64, _>("created_at")?.saturating_mul(1000),
        completed_at_micros: row.try_get::<Option<i64>, _>("completed_at")?.map(|at| at.saturating_mul(1000)),
        expires_at_micros: row.try_get::<i64, _>("expires_at")?.saturating_mul(1000),
    }))
}

/// What the table must be like for the guarantees to hold, each with the words for an operator.
async fn check(connection: &mut SqliteConnection, table: &Table) -> Result<Option<String>, Error> {
    const EXPECTED: [&str; 11] = [
        "id",
        "scope",
        "key",
        "fingerprint",
        "fingerprint_version",
        "response_status",
        "response_headers",
        "response_body",
        "created_at",
        "completed_at",
        "expires_at",
    ];

    let columns: Vec<(String, i64)> = sqlx::query_as("SELECT name, pk FROM pragma_table_info(?1, ?2)")
        .bind(table.name())
        .bind(table.schema())
        .fetch_all(connection)
        .await?;
    let name = table.qualified();
    if columns.is_empty() {
        return Ok(Some(format!("the table {name} does not exist: run `migrate()`")));
    }
    if let Some(missing) =
        EXPECTED.iter().find(|expected| !columns.iter().any(|(column, _)| column == *expected))
    {
        return Ok(Some(format!("the table {name} has no column `{missing}`")));
    }
    let keyed = columns.iter().all(|(column, position)| (*position > 0) == (column == "id"));
    Ok((!keyed)
        .then(|| format!("the table {name} has no primary key on `id` alone: two requests could both run")))
}
