//! Key rows in PostgreSQL, 13 or newer.
//!
//! The reserving statement tries a transaction-level advisory lock, so it does not wait for another request; the
//! primary key decides who runs. The statements are text built once from the table's name, so their plans stay cached.

mod read;
mod sql;
mod statements;
mod table;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Error, Executor, PgPool, Postgres, Row, SqlSafeStr, SqlStr};
use uuid::Uuid;

use self::read::{Mark, found, is_foreign, mark};
use self::statements::{Statements, server_limit_ms};
use super::cause::Cause;
use super::{
    Address, Claimed, Complete, Found, Isolation, KeyRequest, MessageRequest, Probe, Reserve, Settings,
    Source, Store, sealed, status_number,
};
use crate::limits::{RETRIES, STATEMENT_LIMIT};
use crate::replay::StoredResponse;

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
        Statements::new(settings)
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

    async fn count_none(_: &mut PgConnection) -> Result<(), Error> {
        // A ROLLBACK without a transaction succeeds, so sqlx counts it.
        Ok(())
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
            connection.fetch_one(AssertSqlSafe(sql::begin_sweep(server_limit_ms(STATEMENT_LIMIT)))).await?;
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
