//! The statements of one table: their text, built once, and what is bound to them.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Error, Executor, Postgres};
use uuid::Uuid;

use super::super::{KeyRequest, MessageRequest, Settings};
use super::sql::{self, MARGIN, Sql};
use crate::fingerprint::FORMAT_VERSION;
use crate::limits::STATEMENT_LIMIT;

/// The statements of one table.
#[doc(hidden)]
#[derive(Debug)]
pub struct Statements {
    pub(super) advisory_locks: bool,
    /// Whether the connection keeps them by name, which a pooler may not know on the next server.
    pub(super) are_named: bool,
    pub(super) reserve: Arc<str>,
    pub(super) look_up: Arc<str>,
    pub(super) take_over: Arc<str>,
    pub(super) complete: Arc<str>,
    pub(super) complete_serializable: Arc<str>,
    pub(super) current_transaction: Arc<str>,
    pub(super) store_failed: Arc<str>,
    pub(super) mark_broken: Arc<str>,
    pub(super) claim: Arc<str>,
    pub(super) claimed: Arc<str>,
    pub(super) claim_expired: Arc<str>,
    pub(super) find: Arc<str>,
    pub(super) forget: Arc<str>,
    pub(super) sweep: Arc<str>,
    pub(super) takes_writes: Arc<str>,
}

/// The server's time-outs for a run of this limit, in milliseconds.
pub(super) fn server_limit_ms(run_limit: Duration) -> i64 {
    // At most a day and some seconds.
    i64::try_from((run_limit + MARGIN).as_millis()).unwrap_or(i64::MAX)
}

/// A TTL as `make_interval` takes it.
#[expect(clippy::cast_precision_loss, reason = "at most ten years, so exact in a double")]
fn seconds(ttl_secs: u64) -> f64 {
    ttl_secs as f64
}

impl Statements {
    pub(super) fn new(settings: &Settings) -> Self {
        let sql = Sql { table: settings.table.qualified(), settings };
        Self {
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

    pub(super) fn query(&self, sql: &Arc<str>) -> Query<'static, Postgres, PgArguments> {
        sqlx::query(AssertSqlSafe(Arc::clone(sql))).persistent(self.are_named)
    }

    /// A statement with the six parameters that both claiming statements share.
    pub(super) fn claiming<'q>(
        &self,
        sql: &Arc<str>,
        message: &'q MessageRequest,
    ) -> Query<'q, Postgres, PgArguments> {
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
    pub(super) fn reserving<'q>(
        &self,
        sql: &Arc<str>,
        request: &'q KeyRequest,
    ) -> Query<'q, Postgres, PgArguments> {
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
    pub(super) async fn alone(
        &self,
        connection: &mut PgConnection,
        statement: Query<'_, Postgres, PgArguments>,
    ) -> Result<Option<PgRow>, Error> {
        if self.are_named {
            return statement.fetch_optional(connection).await;
        }
        // By statements, since sqlx may still count the transaction that is over.
        connection.execute(AssertSqlSafe(sql::begin_alone(server_limit_ms(STATEMENT_LIMIT)))).await?;
        let row = statement.fetch_optional(&mut *connection).await;
        connection.execute(if row.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        row
    }
}
