//! Key rows in PostgreSQL, 13 or newer.
//!
//! The reserving statement tries a transaction-level advisory lock, so it does not wait for another request; the
//! primary key decides who runs. The statements are text built once from the table's name, so their plans stay cached.

mod sql;
mod table;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Error, Executor, PgPool, Postgres, Row, SqlSafeStr, SqlStr};
use uuid::Uuid;

use self::sql::{MARGIN, Sql};
use super::cause::Cause;
use super::{
    Address, Claimed, Complete, Found, Isolation, KeyRequest, KeyRow, MessageRequest, Probe, Reserve,
    Settings, Source, Store, sealed, status_number,
};
use crate::fingerprint::FORMAT_VERSION;
use crate::limits::RETRIES;
use crate::replay::StoredResponse;

/// Where a reserved row is, and the transaction that wrote it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Mark {
    ctid: String,
    /// The transaction's id, or the run's mark where the server has no `xmin`.
    transaction: String,
    created_at_micros: i64,
    /// Whether the transaction takes predicate locks.
    is_serializable: bool,
}

/// The statements of one table.
#[doc(hidden)]
#[derive(Debug)]
pub struct Statements {
    advisory_locks: bool,
    /// Whether the connection keeps them by name, which a pooler may not know on the next server.
    are_named: bool,
    reserve: Arc<str>,
    look_up: Arc<str>,
    take_over: Arc<str>,
    complete: Arc<str>,
    complete_serializable: Arc<str>,
    current_transaction: Arc<str>,
    store_failed: Arc<str>,
    mark_broken: Arc<str>,
    claim: Arc<str>,
    claimed: Arc<str>,
    claim_expired: Arc<str>,
    find: Arc<str>,
    forget: Arc<str>,
    sweep: Arc<str>,
    takes_writes: Arc<str>,
}

impl sealed::Sealed for Postgres {}
impl sealed::Sealed for PgPool {}

impl Source for PgPool {
    type Database = Postgres;

    fn into_pools(self) -> PgPool {
        self
    }
}

impl Store for Postgres {
    type Pools = PgPool;
    type Statements = Statements;
    type Mark = Mark;
    type Lock = ();

    const DEFAULT_SCHEMA: &'static str = "public";
    const SWEEP_BATCH: u32 = 1000;

    fn statements(settings: &Settings) -> Statements {
        let sql = Sql { table: settings.table.qualified(), settings };
        Statements {
            advisory_locks: settings.advisory_locks,
            are_named: settings.prepared_statements,
            reserve: sql.reserve().into(),
            look_up: sql.look_up().into(),
            take_over: sql.take_over().into(),
            complete: sql.complete().into(),
            complete_serializable: sql.complete_serializable().into(),
            current_transaction: format!("SELECT {}", sql.current_transaction()).into(),
            store_failed: sql.store_failed().into(),
            mark_broken: sql.mark_broken().into(),
            claim: sql.claim().into(),
            claimed: sql.claimed().into(),
            claim_expired: sql.claim_expired().into(),
            find: sql.find().into(),
            forget: sql.forget().into(),
            sweep: sql.sweep().into(),
            takes_writes: sql.takes_writes().into(),
        }
    }

    fn begin(isolation: Option<Isolation>) -> SqlStr {
        sql::begin(isolation).into_sql_str()
    }

    fn begin_without_key(isolation: Option<Isolation>, run_limit: Duration) -> SqlStr {
        AssertSqlSafe(sql::begin_without_key(isolation, server_limit_ms(run_limit))).into_sql_str()
    }

    async fn migrate(pool: &PgPool, settings: &Settings) -> Result<(), Error> {
        table::migrate(pool, settings).await
    }

    async fn check(connection: &mut PgConnection, settings: &Settings) -> Result<Option<String>, Error> {
        table::check(connection, settings.table.qualified()).await
    }

    async fn acquire(pool: &PgPool) -> Result<PoolConnection<Postgres>, Error> {
        pool.acquire().await
    }

    async fn acquire_reader(pool: &PgPool) -> Result<PoolConnection<Postgres>, Error> {
        pool.acquire().await
    }

    fn lock(_: &PgPool) {}

    async fn reserve(
        connection: &mut PgConnection,
        statements: &Statements,
        request: &KeyRequest,
        begun: Instant,
    ) -> Result<Reserve<Mark>, Error> {
        let reserved = statements
            .reserving(&statements.reserve, request)
            .bind(server_limit_ms(request.run_limit))
            .fetch_optional(&mut *connection)
            .await;
        match reserved {
            Ok(row) => {
                if let Some(mark) = row.as_ref().map(mark).transpose()?.flatten() {
                    let is_foreign =
                        row.as_ref().map(|row| is_foreign(row, begun)).transpose()?.unwrap_or(false);
                    return Ok(if is_foreign { Reserve::Foreign } else { Reserve::Fresh(mark) });
                }
            }
            Err(error) => return not_written(error, statements),
        }

        // A statement of its own: under READ COMMITTED its snapshot shows the row that was in the way.
        let row = statements
            .query(&statements.look_up)
            .bind(Uuid::from_bytes(request.address.id))
            .bind(request.address.lock_id)
            .fetch_one(&mut *connection)
            .await?;
        if is_foreign(&row, begun)? {
            return Ok(Reserve::Foreign);
        }
        let holds_lock: bool = row.try_get("holds_lock")?;
        match (row.try_get::<Option<bool>, _>("live")?, holds_lock) {
            (Some(true), _) => found(&row, &request.address).map(Reserve::Found),
            (Some(false) | None, false) => Ok(Reserve::InProgress),
            (None, true) => Ok(Reserve::Vanished),
            (Some(false), true) => {
                let take_over = statements.reserving(&statements.take_over, request);
                let taken = take_over.fetch_optional(connection).await;
                match taken {
                    Ok(row) => Ok(row
                        .as_ref()
                        .map(mark)
                        .transpose()?
                        .flatten()
                        .map_or(Reserve::Vanished, Reserve::Fresh)),
                    Err(error) => not_written(error, statements),
                }
            }
        }
    }

    async fn complete(
        connection: &mut PgConnection,
        statements: &Statements,
        request: &KeyRequest,
        mark: &Mark,
        answer: &StoredResponse,
    ) -> Result<Complete, Error> {
        // Outside its transaction the statement could be read by one server and run by another.
        if !statements.are_named && Self::probe(connection, statements, Some(mark)).await? == Probe::Lost {
            return Ok(Complete::TransactionLost);
        }
        let statement =
            if mark.is_serializable { &statements.complete_serializable } else { &statements.complete };
        let completed = statements
            .query(statement)
            .bind(&mark.ctid)
            .bind(Uuid::from_bytes(request.address.id))
            .bind(status_number(answer))
            .bind(answer.encode_headers())
            .bind(&answer.body()[..])
            .bind(&mark.transaction)
            .fetch_optional(&mut *connection)
            .await?;
        match completed.map(|row| row.try_get("is_recorded")).transpose()? {
            Some(true) => return Ok(Complete::Recorded),
            Some(false) => return Ok(Complete::RowLost),
            None => {}
        }
        Ok(match Self::probe(connection, statements, Some(mark)).await? {
            Probe::Own | Probe::Aborted => Complete::RowLost,
            Probe::Lost => Complete::TransactionLost,
        })
    }

    async fn probe(
        connection: &mut PgConnection,
        statements: &Statements,
        mark: Option<&Mark>,
    ) -> Result<Probe, Error> {
        let (statement, own) = match mark {
            Some(mark) => (
                AssertSqlSafe(Arc::clone(&statements.current_transaction)).into_sql_str(),
                mark.transaction.as_str(),
            ),
            None => (sql::RUN_WITHOUT_KEY.into_sql_str(), sql::WITHOUT_KEY),
        };
        probe(connection, statement, |current| current == own).await
    }

    fn is_rolled_back(_: &Error) -> bool {
        // PostgreSQL answers a ROLLBACK without a transaction with a warning.
        false
    }

    async fn mark_broken(
        connection: &mut PgConnection,
        statements: &Statements,
        request: &KeyRequest,
        mark: &Mark,
    ) -> Result<(), Error> {
        connection.execute("ROLLBACK").await?;
        let statement = statements.reserving(&statements.mark_broken, request).bind(mark.created_at_micros);
        statements.alone(connection, statement).await?;
        Ok(())
    }

    async fn store_failed(
        connection: &mut PgConnection,
        statements: &Statements,
        request: &KeyRequest,
        mark: &Mark,
        answer: &StoredResponse,
    ) -> Result<bool, Error> {
        let statement = statements
            .reserving(&statements.store_failed, request)
            .bind(mark.created_at_micros)
            .bind(status_number(answer))
            .bind(answer.encode_headers())
            .bind(&answer.body()[..]);
        match statements.alone(connection, statement).await {
            Ok(row) => {
                Ok(row.is_some_and(|row| row.try_get::<Option<bool>, _>(0).ok().flatten().unwrap_or(false)))
            }
            Err(error) if is_other_request(&error, statements) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn claim(
        connection: &mut PgConnection,
        statements: &Statements,
        message: &MessageRequest,
        begun: Option<Instant>,
    ) -> Result<Claimed, Error> {
        for _ in 0..=RETRIES {
            let row = match statements.claiming(&statements.claim, message).fetch_one(&mut *connection).await
            {
                Ok(row) => row,
                Err(error) => return not_claimed(error),
            };
            if begun.map(|begun| is_foreign(&row, begun)).transpose()?.unwrap_or(false) {
                return Ok(Claimed::Foreign);
            }
            if row.try_get("is_claimed")? {
                return Ok(Claimed::Fresh);
            }

            // A statement of its own: under READ COMMITTED its snapshot shows the row that was in the way.
            let claimed = statements.query(&statements.claimed).bind(Uuid::from_bytes(message.address.id));
            let Some(row) = claimed.fetch_optional(&mut *connection).await? else { continue };
            if row.try_get("live")? {
                let is_same = row.try_get::<&str, _>("scope")? == message.address.scope
                    && row.try_get::<&str, _>("key")? == message.address.key.as_str();
                return Ok(if is_same { Claimed::Duplicate } else { Claimed::Collision });
            }
            let claim = statements.claiming(&statements.claim_expired, message);
            match claim.fetch_one(&mut *connection).await {
                Ok(row) if row.try_get("is_claimed")? => return Ok(Claimed::Fresh),
                Ok(_) => {}
                Err(error) => return not_claimed(error),
            }
        }
        Ok(Claimed::InProgress)
    }

    async fn probe_claims(
        connection: &mut PgConnection,
        _: &Statements,
        first: Option<&Address>,
    ) -> Result<Probe, Error> {
        let first = first.map(|address| Uuid::from_bytes(address.id).to_string());
        // Where the setting was, and is no more, it is empty.
        let is_own = |current: &str| first.as_ref().map_or(!current.is_empty(), |first| current == first);
        probe(connection, sql::FIRST_CLAIM.into_sql_str(), is_own).await
    }

    async fn find(
        connection: &mut PgConnection,
        statements: &Statements,
        address: &Address,
    ) -> Result<Option<Found>, Error> {
        let find = statements.query(&statements.find).bind(Uuid::from_bytes(address.id));
        let row = statements.alone(connection, find).await?;
        row.map(|row| found(&row, address)).transpose()
    }

    async fn forget(
        connection: &mut PgConnection,
        statements: &Statements,
        address: &Address,
    ) -> Result<bool, Error> {
        let forget = statements
            .query(&statements.forget)
            .bind(Uuid::from_bytes(address.id))
            .bind(&address.scope)
            .bind(address.key.as_str());
        Ok(statements.alone(connection, forget).await?.is_some())
    }

    async fn sweep(connection: &mut PgConnection, statements: &Statements, limit: u32) -> Result<u64, Error> {
        let begun =
            connection.fetch_one(AssertSqlSafe(sql::begin_sweep(server_limit_ms(ALONE_LIMIT)))).await?;
        if !begun.try_get::<bool, _>("is_own")? {
            // Its COMMIT would be for whatever else was written there.
            return Err(Error::Protocol("a pooled connection came inside a transaction".to_owned()));
        }
        // Without a name, so that it is planned anew: a plan that was made for a small table would read a large one.
        let sweep = statements.query(&statements.sweep).persistent(false).bind(i64::from(limit));
        let swept = sweep.execute(&mut *connection).await;
        connection.execute(if swept.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        Ok(swept?.rows_affected())
    }

    async fn takes_writes(connection: &mut PgConnection, statements: &Statements) -> Result<bool, Error> {
        // One message, which any pooler sends to one server.
        let statement = sqlx::raw_sql(AssertSqlSafe(Arc::clone(&statements.takes_writes)));
        connection.fetch_one(statement).await?.try_get("takes_writes")
    }
}

/// Asks the transaction for one text, which is its own by what `is_own` says of it.
///
/// One message, which does not ask for the transaction that it may find lost.
async fn probe(
    connection: &mut PgConnection,
    statement: SqlStr,
    is_own: impl FnOnce(&str) -> bool,
) -> Result<Probe, Error> {
    match connection.fetch_one(sqlx::raw_sql(statement)).await {
        Ok(row) => {
            let current: Option<String> = row.try_get(0)?;
            Ok(if current.as_deref().is_some_and(is_own) { Probe::Own } else { Probe::Lost })
        }
        Err(error) if Cause::is_aborted(&error) => Ok(Probe::Aborted),
        Err(error) => Err(error),
    }
}

/// The server's time-outs for a run of this limit, in milliseconds.
fn server_limit_ms(run_limit: Duration) -> i64 {
    // At most a day and some seconds.
    i64::try_from((run_limit + MARGIN).as_millis()).unwrap_or(i64::MAX)
}

/// A TTL as `make_interval` takes it.
#[expect(clippy::cast_precision_loss, reason = "at most ten years, so exact in a double")]
fn seconds(ttl_secs: u64) -> f64 {
    ttl_secs as f64
}

/// How long the one statement of a transaction of its own may take; the engine waits as long for its reply.
const ALONE_LIMIT: Duration = Duration::from_secs(10);

impl Statements {
    fn query(&self, sql: &Arc<str>) -> Query<'static, Postgres, PgArguments> {
        sqlx::query(AssertSqlSafe(Arc::clone(sql))).persistent(self.are_named)
    }

    /// A statement with the six parameters that both claiming statements share.
    fn claiming<'q>(&self, sql: &Arc<str>, message: &'q MessageRequest) -> Query<'q, Postgres, PgArguments> {
        self.query(sql)
            .bind(Uuid::from_bytes(message.address.id))
            .bind(&message.address.scope)
            .bind(message.address.key.as_str())
            .bind(FORMAT_VERSION)
            .bind(seconds(message.ttl_secs))
            // At most an hour.
            .bind(i64::try_from(message.wait.as_millis()).unwrap_or(i64::MAX))
    }

    /// A statement with the seven parameters that all reserving statements share.
    fn reserving<'q>(&self, sql: &Arc<str>, request: &'q KeyRequest) -> Query<'q, Postgres, PgArguments> {
        self.query(sql)
            .bind(Uuid::from_bytes(request.address.id))
            .bind(&request.address.scope)
            .bind(request.address.key.as_str())
            .bind(&request.fingerprint.as_bytes()[..])
            .bind(FORMAT_VERSION)
            .bind(seconds(request.ttl_secs))
            .bind(request.address.lock_id)
    }

    /// Runs a statement that is a transaction by itself, on a connection that is in none.
    ///
    /// sqlx has an unnamed statement read in one round and run in the next. Between the two a pooler in transaction mode
    /// may change the server, unless a transaction is open.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropped, it may leave that transaction open.
    async fn alone(
        &self,
        connection: &mut PgConnection,
        statement: Query<'_, Postgres, PgArguments>,
    ) -> Result<Option<PgRow>, Error> {
        if self.are_named {
            return statement.fetch_optional(connection).await;
        }
        // By statements, since sqlx may still count the transaction that is over.
        connection.execute(AssertSqlSafe(sql::begin_alone(server_limit_ms(ALONE_LIMIT)))).await?;
        let row = statement.fetch_optional(&mut *connection).await;
        connection.execute(if row.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        row
    }
}

/// Reads what a reserving statement gave back; `None` where the bounded form reports that it wrote nothing.
fn mark(row: &PgRow) -> Result<Option<Mark>, Error> {
    let Some(ctid) = row.try_get::<Option<String>, _>("ctid")? else { return Ok(None) };
    Ok(Some(Mark {
        ctid,
        transaction: row.try_get("transaction")?,
        created_at_micros: row.try_get("created_at_micros")?,
        is_serializable: row.try_get("is_serializable")?,
    }))
}

/// Reads a row that is live.
fn found(row: &PgRow, address: &Address) -> Result<Found, Error> {
    if row.try_get::<&str, _>("scope")? != address.scope
        || row.try_get::<&str, _>("key")? != address.key.as_str()
    {
        return Ok(Found::Collision);
    }
    let fingerprint: Vec<u8> = row.try_get("fingerprint")?;
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
        fingerprint,
        fingerprint_version: row.try_get("fingerprint_version")?,
        response,
        created_at_micros: row.try_get("created_at_micros")?,
        completed_at_micros: row.try_get("completed_at_micros")?,
        expires_at_micros: row.try_get("expires_at_micros")?,
    }))
}

/// Whether the transaction is older than it can be, if its BEGIN was sent after `begun`.
///
/// On a connection that already is in a transaction, BEGIN is a mere warning: the run would join writes that are none
/// of its own, and its row would be dated back.
fn is_foreign(row: &PgRow, begun: Instant) -> Result<bool, Error> {
    /// What the two clocks may differ by while a reservation is made.
    const CLOCK_TOLERANCE: Duration = Duration::from_millis(20);
    let age = Duration::from_micros(row.try_get::<i64, _>("age_micros")?.unsigned_abs());
    Ok(age > begun.elapsed() + CLOCK_TOLERANCE)
}

/// What the error of a claiming statement says of the message.
fn not_claimed(error: Error) -> Result<Claimed, Error> {
    if Cause::of(&error) == Cause::LockTimeout { Ok(Claimed::InProgress) } else { Err(error) }
}

/// What the error of a reserving statement says of the key.
fn not_written(error: Error, statements: &Statements) -> Result<Reserve<Mark>, Error> {
    if is_other_request(&error, statements) { Ok(Reserve::InProgress) } else { Err(error) }
}

/// Whether a statement failed because another request holds the key's row. Where advisory locks are off it waits for
/// that row, and a lock time-out says so. With them it waits for nobody's row, so the lock is somebody else's.
fn is_other_request(error: &Error, statements: &Statements) -> bool {
    !statements.advisory_locks && Cause::of(error) == Cause::LockTimeout
}
