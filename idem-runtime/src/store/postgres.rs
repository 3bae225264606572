//! Key rows in PostgreSQL, 13 or newer.
//!
//! The reserving statement tries a transaction-level advisory lock, so it does not wait for another request; the
//! primary key decides who runs. The statements are text built once from the table's name, so their plans stay cached.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::error::DatabaseError;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Error, Executor, PgPool, Postgres, Row, SqlSafeStr, SqlStr};
use uuid::Uuid;

use super::cause::Cause;
use super::table::IndexSchema;
use super::{
    Address, Complete, Found, Isolation, KeyRequest, KeyRow, Probe, Reserve, Settings, Source, Store, sealed,
    status_number,
};
use crate::fingerprint::FORMAT_VERSION;
use crate::replay::StoredResponse;
use crate::scope::lock_id;

const CREATE: &str = include_str!("../../migrations/postgres/0001_create_idempotency_keys.up.sql");

/// How long a statement waits for another request's row where advisory locks are off. Below 50 ms, requests with
/// keys of their own fail now and then while the table grows.
const LOCK_TIMEOUT: &str = "100ms";

/// How much longer than the run limit the server lets a transaction sit idle, or a statement run. A run ends itself
/// before; the server's end is for a host that froze, and for the statement of a handler that was stopped, which
/// would hold the key for as long as it goes on.
const MARGIN: Duration = Duration::from_secs(5);

/// The server's time-outs that bound a run.
const TIME_OUTS: [&str; 2] = ["idle_in_transaction_session_timeout", "statement_timeout"];

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
    begin: &'static str,
    advisory_locks: bool,
    reserve: Arc<str>,
    look_up: Arc<str>,
    take_over: Arc<str>,
    complete: Arc<str>,
    complete_serializable: Arc<str>,
    current_transaction: Arc<str>,
    store_failed: Arc<str>,
    mark_broken: Arc<str>,
    find: Arc<str>,
    forget: Arc<str>,
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

    fn statements(settings: &Settings) -> Statements {
        let sql = Sql { table: settings.table.qualified(), settings };
        Statements {
            begin: match settings.isolation {
                None => "BEGIN",
                Some(Isolation::ReadCommitted) => "BEGIN ISOLATION LEVEL READ COMMITTED",
                Some(Isolation::RepeatableRead) => "BEGIN ISOLATION LEVEL REPEATABLE READ",
                Some(Isolation::Serializable) => "BEGIN ISOLATION LEVEL SERIALIZABLE",
            },
            advisory_locks: settings.advisory_locks,
            reserve: sql.reserve().into(),
            look_up: sql.look_up().into(),
            take_over: sql.take_over().into(),
            complete: sql.complete().into(),
            complete_serializable: sql.complete_serializable().into(),
            current_transaction: format!("SELECT {}", sql.current_transaction()).into(),
            store_failed: sql.store_failed().into(),
            mark_broken: sql.mark_broken().into(),
            find: sql.find().into(),
            forget: sql.forget().into(),
        }
    }

    fn begin(statements: &Statements) -> SqlStr {
        statements.begin.into_sql_str()
    }

    async fn migrate(pool: &PgPool, settings: &Settings) -> Result<(), Error> {
        for _ in 0..MIGRATION_RETRIES {
            match migrate(pool, settings).await {
                Err(error) if is_created_meanwhile(&error) => {}
                migrated => return migrated,
            }
        }
        migrate(pool, settings).await
    }

    async fn check(connection: &mut PgConnection, settings: &Settings) -> Result<Option<String>, Error> {
        check(connection, settings.table.qualified()).await
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
        let reserved = reserving(&statements.reserve, request).fetch_optional(&mut *connection).await;
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
        let row = query(&statements.look_up)
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
                let taken = reserving(&statements.take_over, request).fetch_optional(connection).await;
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
        let statement =
            if mark.is_serializable { &statements.complete_serializable } else { &statements.complete };
        let completed = query(statement)
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
        match query(&statements.current_transaction).fetch_one(connection).await {
            Ok(row) => {
                let current: Option<String> = row.try_get(0)?;
                let is_own = mark.is_none_or(|mark| current.as_deref() == Some(&mark.transaction));
                Ok(if is_own { Probe::Own } else { Probe::Lost })
            }
            Err(Error::Database(error)) if error.code().as_deref() == Some("25P02") => Ok(Probe::Aborted),
            Err(error) => Err(error),
        }
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
        reserving(&statements.mark_broken, request).bind(mark.created_at_micros).execute(connection).await?;
        Ok(())
    }

    async fn store_failed(
        connection: &mut PgConnection,
        statements: &Statements,
        request: &KeyRequest,
        mark: &Mark,
        answer: &StoredResponse,
    ) -> Result<bool, Error> {
        let stored = reserving(&statements.store_failed, request)
            .bind(mark.created_at_micros)
            .bind(status_number(answer))
            .bind(answer.encode_headers())
            .bind(&answer.body()[..])
            .fetch_optional(connection)
            .await;
        match stored {
            Ok(row) => {
                Ok(row.is_some_and(|row| row.try_get::<Option<bool>, _>(0).ok().flatten().unwrap_or(false)))
            }
            Err(error) if is_other_request(&error, statements) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn find(
        connection: &mut PgConnection,
        statements: &Statements,
        address: &Address,
    ) -> Result<Option<Found>, Error> {
        let row =
            query(&statements.find).bind(Uuid::from_bytes(address.id)).fetch_optional(connection).await?;
        row.map(|row| found(&row, address)).transpose()
    }

    async fn forget(
        connection: &mut PgConnection,
        statements: &Statements,
        address: &Address,
    ) -> Result<bool, Error> {
        let forgotten = query(&statements.forget)
            .bind(Uuid::from_bytes(address.id))
            .bind(&address.scope)
            .bind(address.key.as_str())
            .execute(connection)
            .await?;
        Ok(forgotten.rows_affected() == 1)
    }
}

/// The text of the statements.
///
/// `$1` to `$7` are the same in all that reserve: id, scope, key, fingerprint, its version, the TTL in seconds, and
/// the advisory lock's id.
struct Sql<'a> {
    table: &'a str,
    settings: &'a Settings,
}

impl Sql<'_> {
    /// Takes the advisory lock until COMMIT or ROLLBACK without waiting for it; always had where such locks are off.
    fn try_lock(&self, parameter: &str) -> String {
        if self.settings.advisory_locks {
            format!("pg_try_advisory_xact_lock({parameter}::bigint)")
        } else {
            format!("({parameter}::bigint IS NOT NULL)")
        }
    }

    /// The id of the current transaction, which it is given here if it has none yet.
    fn transaction(&self) -> &'static str {
        if self.settings.xmin_check {
            "pg_current_xact_id()::xid::text"
        } else {
            "current_setting('idempotency.run')"
        }
    }

    /// The id of the current transaction, null if it has none.
    fn current_transaction(&self) -> &'static str {
        if self.settings.xmin_check {
            "pg_current_xact_id_if_assigned()::xid::text"
        } else {
            "current_setting('idempotency.run', true)"
        }
    }

    /// What a reserving statement gives back: where the row is, who wrote it, when.
    fn mark(&self) -> String {
        // A server without `xmin` has no `ctid` either.
        let ctid = if self.settings.xmin_check { "ctid::text" } else { "''" };
        format!(
            "{ctid} AS ctid, {} AS transaction, \
             (extract(epoch FROM created_at) * 1000000)::bigint AS created_at_micros, \
             current_setting('transaction_isolation') = 'serializable' AS is_serializable, {AGE}",
            self.transaction()
        )
    }

    /// The settings of a reserving transaction, as columns of one row. All of them end with the transaction.
    ///
    /// The two time-outs are only ever lowered, so that shorter ones of the application's stay. `lock_timeout` is put
    /// back by [`bounded`](Self::bounded).
    fn setup(&self) -> String {
        let limit_ms = (self.settings.run_limit + MARGIN).as_millis();
        let lower = |name: &str| {
            format!(
                "CASE WHEN {name} = interval '0' OR {name} > interval '{limit_ms} milliseconds' \
                 THEN set_config('{name}', '{limit_ms}', true) END"
            )
        };
        let [idle, statement] = TIME_OUTS.map(lower);
        let run = if self.settings.xmin_check {
            String::new()
        } else {
            // A setting that is local to the transaction stands in for its id: it is gone after COMMIT.
            ", set_config('idempotency.run', $1::uuid::text, true)".to_owned()
        };
        let [idle_now, statement_now] =
            TIME_OUTS.map(|name| format!("current_setting('{name}')::interval AS {name}"));
        format!("SELECT {idle}, {statement}{run} FROM (SELECT {idle_now}, {statement_now}) AS session")
    }

    /// Wraps a statement that may meet another transaction's row. `body` writes, reads from `setup` and returns.
    ///
    /// With advisory locks it meets none of another request's. Without, the wait is bounded here and the session's own bound is put back in the same statement.
    fn bounded(&self, setup: &str, body: &str, columns: &str) -> String {
        if self.settings.advisory_locks {
            return format!("WITH setup AS MATERIALIZED ({setup}) {body}");
        }
        format!(
            "WITH prior AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout), \
             bound AS MATERIALIZED (SELECT set_config('lock_timeout', '{LOCK_TIMEOUT}', true) FROM prior), \
             setup AS MATERIALIZED (SELECT s.* FROM bound, ({setup}) AS s), \
             written AS ({body}) \
             SELECT {columns}, set_config('lock_timeout', prior.lock_timeout, true) \
             FROM prior LEFT JOIN written ON true"
        )
    }

    /// One row: reserved. No row: another request holds or has the key.
    ///
    /// Locks: the advisory lock of the key, and the new row, both until the transaction ends.
    fn reserve(&self) -> String {
        let body = format!(
            "INSERT INTO {table} (id, scope, key, fingerprint, fingerprint_version, created_at, expires_at) \
             SELECT $1::uuid, $2::text, $3::text, $4::bytea, $5::smallint, now(), \
                    now() + make_interval(secs => $6::double precision) \
             FROM setup WHERE {lock} \
             ON CONFLICT (id) DO NOTHING RETURNING {mark}",
            table = self.table,
            lock = self.try_lock("$7"),
            mark = self.mark(),
        );
        self.bounded(&self.setup(), &body, "written.*")
    }

    /// The row, live or not, and whether the key's advisory lock is ours. Locks nothing else.
    fn look_up(&self) -> String {
        format!(
            "SELECT lock.holds_lock, k.expires_at > now() AS live, {AGE}, {columns} \
             FROM (SELECT {lock} AS holds_lock) AS lock LEFT JOIN {table} AS k ON k.id = $1::uuid",
            columns = COLUMNS,
            lock = self.try_lock("$2"),
            table = self.table,
        )
    }

    /// One row: an expired row is reserved anew, every column of it. No row: another request was quicker.
    ///
    /// Locks the row until the transaction ends.
    fn take_over(&self) -> String {
        let body = format!(
            "UPDATE {table} AS k SET scope = $2::text, key = $3::text, fingerprint = $4::bytea, \
                    fingerprint_version = $5::smallint, response_status = NULL, response_headers = NULL, \
                    response_body = NULL, created_at = now(), completed_at = NULL, \
                    expires_at = now() + make_interval(secs => $6::double precision) \
             FROM setup WHERE k.id = $1::uuid AND k.expires_at <= now() AND {lock} RETURNING {mark}",
            table = self.table,
            lock = self.try_lock("$7"),
            mark = self.mark(),
        );
        self.bounded("SELECT 1", &body, "written.*")
    }

    /// Exactly one row, or the transaction is not the one that reserved.
    ///
    /// `xmin` is this transaction's only if it wrote the row (PostgreSQL manual, 5.5 System Columns).
    fn complete(&self) -> String {
        let own = if self.settings.xmin_check {
            "k.ctid = $1::text::tid AND k.xmin = pg_current_xact_id()::xid AND $6::text IS NOT NULL"
        } else {
            "$1::text IS NOT NULL AND current_setting('idempotency.run', true) = $6::text"
        };
        format!(
            "UPDATE {table} AS k SET {ANSWER} \
             WHERE k.id = $2::uuid AND k.response_status IS NULL AND {own} RETURNING true AS is_recorded",
            table = self.table,
        )
    }

    /// The same for a SERIALIZABLE transaction, but found as a conflict: that takes no predicate lock, whereas a scan,
    /// which of a small table is always one of all its pages, would make unrelated transactions fail.
    ///
    /// Where there is no conflict the handler has deleted its row. The row that is inserted then says `false`, is
    /// expired from the start, and is rolled back.
    fn complete_serializable(&self) -> String {
        format!(
            "INSERT INTO {table} AS k (id, scope, key, fingerprint, fingerprint_version, created_at, expires_at) \
             SELECT $2::uuid, '', '', '', 0, '-infinity', '-infinity' \
             WHERE {current} = $6::text AND $1::text IS NOT NULL \
             ON CONFLICT (id) DO UPDATE SET {ANSWER} WHERE k.response_status IS NULL AND {own} \
             RETURNING k.scope <> '' AS is_recorded",
            table = self.table,
            current = self.current_transaction(),
            own = if self.settings.xmin_check { "k.xmin = pg_current_xact_id()::xid" } else { "true" },
        )
    }

    /// One row, `true`: stored. Anything else: another request came in between. A transaction of its own.
    ///
    /// The times are those of the reservation that was rolled back, which `$8` gives in microseconds.
    fn store_failed(&self) -> String {
        let body = format!(
            "INSERT INTO {table} AS k (id, scope, key, fingerprint, fingerprint_version, response_status, \
                    response_headers, response_body, created_at, completed_at, expires_at) \
             SELECT $1::uuid, $2::text, $3::text, $4::bytea, $5::smallint, $9::smallint, $10::bytea, $11::bytea, \
                    reserved.at, clock_timestamp(), reserved.at + make_interval(secs => $6::double precision) \
             FROM setup, (SELECT timestamptz 'epoch' + $8::bigint * interval '1 microsecond' AS at) AS reserved \
             WHERE {lock} \
             ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, key = excluded.key, \
                    fingerprint = excluded.fingerprint, fingerprint_version = excluded.fingerprint_version, \
                    response_status = excluded.response_status, response_headers = excluded.response_headers, \
                    response_body = excluded.response_body, created_at = excluded.created_at, \
                    completed_at = excluded.completed_at, expires_at = excluded.expires_at \
             WHERE k.expires_at <= now() RETURNING true AS stored",
            table = self.table,
            lock = self.try_lock("$7"),
        );
        self.bounded("SELECT 1", &body, "written.stored")
    }

    /// A row without an answer, if no live row is there. A transaction of its own.
    ///
    /// The times are those of the reservation that is gone, which `$8` gives in microseconds.
    fn mark_broken(&self) -> String {
        let body = format!(
            "INSERT INTO {table} AS k (id, scope, key, fingerprint, fingerprint_version, created_at, expires_at) \
             SELECT $1::uuid, $2::text, $3::text, $4::bytea, $5::smallint, reserved.at, \
                    reserved.at + make_interval(secs => $6::double precision) \
             FROM setup, (SELECT timestamptz 'epoch' + $8::bigint * interval '1 microsecond' AS at) AS reserved \
             WHERE {lock} \
             ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, key = excluded.key, \
                    fingerprint = excluded.fingerprint, fingerprint_version = excluded.fingerprint_version, \
                    response_status = NULL, response_headers = NULL, response_body = NULL, \
                    created_at = excluded.created_at, completed_at = NULL, expires_at = excluded.expires_at \
             WHERE k.expires_at <= now() RETURNING true AS stored",
            table = self.table,
            lock = self.try_lock("$7"),
        );
        self.bounded("SELECT 1", &body, "written.stored")
    }

    /// The live row, for an operator or a run that lost. Locks nothing.
    fn find(&self) -> String {
        format!("SELECT {COLUMNS} FROM {} AS k WHERE k.id = $1::uuid AND k.expires_at > now()", self.table)
    }

    /// Locks the row. One that is not committed is not there yet.
    fn forget(&self) -> String {
        format!("DELETE FROM {} WHERE id = $1::uuid AND scope = $2::text AND key = $3::text", self.table)
    }
}

/// What completing writes.
const ANSWER: &str = "response_status = $3::smallint, response_headers = $4::bytea, response_body = $5::bytea, \
    completed_at = clock_timestamp()";

/// How old the transaction is.
const AGE: &str = "(extract(epoch FROM statement_timestamp() - now()) * 1000000)::bigint AS age_micros";

/// What a row's reader needs.
const COLUMNS: &str = "k.scope, k.key, k.fingerprint, k.fingerprint_version, k.response_status, k.response_headers, \
    k.response_body, (extract(epoch FROM k.created_at) * 1000000)::bigint AS created_at_micros, \
    (extract(epoch FROM k.expires_at) * 1000000)::bigint AS expires_at_micros";

fn query(sql: &Arc<str>) -> Query<'static, Postgres, PgArguments> {
    sqlx::query(AssertSqlSafe(Arc::clone(sql)))
}

/// A statement with the seven parameters that all reserving statements share.
fn reserving<'q>(sql: &Arc<str>, request: &'q KeyRequest) -> Query<'q, Postgres, PgArguments> {
    // At most ten years, so exact in a double.
    #[allow(clippy::cast_precision_loss)]
    let ttl_secs = request.ttl_secs as f64;
    query(sql)
        .bind(Uuid::from_bytes(request.address.id))
        .bind(&request.address.scope)
        .bind(request.address.key.as_str())
        .bind(&request.fingerprint.as_bytes()[..])
        .bind(FORMAT_VERSION)
        .bind(ttl_secs)
        .bind(request.address.lock_id)
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

/// What the error of a reserving statement says of the key.
fn not_written(error: Error, statements: &Statements) -> Result<Reserve<Mark>, Error> {
    if is_other_request(&error, statements) { Ok(Reserve::InProgress) } else { Err(error) }
}

/// Whether a statement failed because another request holds the key's row. Where advisory locks are off it waits for
/// that row, and a lock time-out says so. With them it waits for nobody's row, so the lock is somebody else's.
fn is_other_request(error: &Error, statements: &Statements) -> bool {
    !statements.advisory_locks && Cause::of(error) == Cause::LockTimeout
}

/// How often a migration begins again after another process was quicker. Each time that process has committed, so
/// one retry will do, unless the table is dropped meanwhile.
const MIGRATION_RETRIES: usize = 3;

async fn migrate(pool: &PgPool, settings: &Settings) -> Result<(), Error> {
    let table = &settings.table;
    let script = table.migration(CREATE, IndexSchema::OfItsTable);
    let mut transaction = pool.begin().await?;
    // One migration at a time: two CREATE TABLE IF NOT EXISTS at once can still collide in the catalogue.
    if settings.advisory_locks {
        let lock_id = lock_id(table.qualified(), &[0; 16]);
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(lock_id).execute(&mut *transaction).await?;
    }
    if let Err(error) = sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut *transaction).await {
        // Awaited, so that the next attempt does not find the connection in a transaction that failed.
        transaction.rollback().await?;
        return Err(error);
    }
    #[expect(clippy::disallowed_methods, reason = "every statement of the transaction succeeded")]
    transaction.commit().await
}

/// Whether a `CREATE … IF NOT EXISTS` met the same statement of another process, which without advisory locks it may:
/// `unique_violation` in the catalogue, `duplicate_object` or `duplicate_table`.
fn is_created_meanwhile(error: &Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|code| matches!(&*code, "23505" | "42710" | "42P07"))
}

/// What the table must be like for the guarantees to hold, each with the words for an operator.
async fn check(connection: &mut PgConnection, table: &str) -> Result<Option<String>, Error> {
    const CATALOGUE: &str = "
        SELECT c.relkind = 'r' AND c.relpersistence = 'p' AS permanent,
               EXISTS (SELECT FROM pg_index i
                        WHERE i.indrelid = c.oid AND i.indisprimary AND i.indimmediate AND i.indisvalid
                          AND i.indnkeyatts = 1
                          AND i.indkey[0] = (SELECT attnum FROM pg_attribute
                                              WHERE attrelid = c.oid AND attname = 'id')) AS keyed,
               row_security_active(c.oid) AS secured,
               has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
                   AND has_table_privilege(c.oid, 'UPDATE') AS allowed,
               ARRAY(SELECT attname || ' ' || format_type(atttypid, NULL) FROM pg_attribute
                      WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns
          FROM pg_class c WHERE c.oid = to_regclass($1)";
    const EXPECTED: [&str; 11] = [
        "id uuid",
        "scope text",
        "key text",
        "fingerprint bytea",
        "fingerprint_version smallint",
        "response_status smallint",
        "response_headers bytea",
        "response_body bytea",
        "created_at timestamp with time zone",
        "completed_at timestamp with time zone",
        "expires_at timestamp with time zone",
    ];

    let Some(row) = sqlx::query(CATALOGUE).bind(table).fetch_optional(connection).await? else {
        return Ok(Some(format!(
            "the table {table} does not exist, or this role may not see it: run `migrate()`"
        )));
    };
    let columns: Vec<String> = row.try_get("columns")?;
    if let Some(missing) = EXPECTED.iter().find(|expected| !columns.iter().any(|column| column == *expected))
    {
        return Ok(Some(format!("the table {table} has no column `{missing}`")));
    }
    let complaint = if !row.try_get::<bool, _>("permanent")? {
        "is not an ordinary, permanent table: its rows might not survive a crash together with the writes they stand for"
    } else if !row.try_get::<bool, _>("keyed")? {
        "has no primary key on `id` alone that is checked at once (not deferrable): two requests could both run"
    } else if row.try_get::<bool, _>("secured")? {
        "has row-level security that applies to this role: a hidden row would let a request run twice"
    } else if !row.try_get::<bool, _>("allowed")? {
        "does not grant SELECT, INSERT and UPDATE to this role"
    } else {
        return Ok(None);
    };
    Ok(Some(format!("the table {table} {complaint}")))
}
