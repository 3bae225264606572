//! A pool for look-ups beside a handler's transaction.

use std::fmt;
use std::ops::Deref;

#[cfg(feature = "postgres")]
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
#[cfg(feature = "sqlite")]
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
#[cfg(feature = "postgres")]
use sqlx::{Executor as _, Row as _};

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use crate::error::Error;
use crate::inert::Inert;

/// A pool whose sessions the database keeps read-only: a [`sqlx::PgPool`] or a [`sqlx::SqlitePool`] for look-ups.
///
/// It is [`Inert`], so an `#[idempotent]` handler may take it as `State<ReadOnly<PgPool>>` beside its transaction, for
/// what it only reads: prices, settings, another service's tables. It dereferences to the pool; a statement runs on
/// `&*lookups`.
///
/// - A look-up sees what is committed, not what the handler's transaction has written, and it is another snapshot.
///   What a decision to write rests on is read in the transaction.
/// - It is a pool of its own. With a pool that other transactions use as well, handlers that each hold a transaction
///   could wait for one another's connections until the acquire time-out.
/// - What the database itself does not count as a write stays possible: see the constructors.
/// - New options for its connections ([`set_connect_options`](sqlx::Pool::set_connect_options)) have to say again that
///   they only read.
///
/// # Examples
/// ```
/// # #[cfg(all(feature = "axum", feature = "postgres"))] mod example {
/// use axum::extract::State;
/// use axum::http::StatusCode;
/// use idem_runtime::{ReadOnly, idempotent};
/// use sqlx::{PgConnection, PgPool};
///
/// #[idempotent(scope = "endpoint")]
/// async fn order(
///     tx: &mut PgConnection,
///     State(lookups): State<ReadOnly<PgPool>>,
///     item: String,
/// ) -> Result<StatusCode, StatusCode> {
///     let price: i64 = sqlx::query_scalar("SELECT price FROM catalogue.items WHERE name = $1")
///         .bind(&item)
///         .fetch_one(&*lookups)
///         .await
///         .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
///     sqlx::query("INSERT INTO orders (item, price) VALUES ($1, $2)")
///         .bind(&item)
///         .bind(price)
///         .execute(tx)
///         .await
///         .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
///     Ok(StatusCode::CREATED)
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct ReadOnly<P>(P);

#[cfg(feature = "postgres")]
impl ReadOnly<PgPool> {
    /// Connects with `default_transaction_read_only = on` as a start-up option of every session, and checks on one of
    /// them that it holds.
    ///
    /// PostgreSQL then refuses what writes (manual, SET TRANSACTION): `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `TRUNCATE`,
    /// `CREATE` and the like, `SELECT … FOR UPDATE`, `nextval`. It is a default and not a privilege: **a statement that
    /// asks for it can write all the same**: `BEGIN READ WRITE`, `SET TRANSACTION READ WRITE`,
    /// `SET default_transaction_read_only = off`. Nor does it cover `NOTIFY`, advisory locks, large objects before
    /// PostgreSQL 16, or functions that reach another server (`dblink`). Connect as a role without the right to write
    /// where that matters.
    ///
    /// # Errors
    /// [`Error::Misconfigured`] if the sessions are not read-only, as behind a pooler that drops start-up options (see
    /// [`verified`](Self::verified)); [`Error::Store`] if the database cannot be reached, or a pooler refuses such
    /// options.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, it leaves no connection behind.
    pub async fn connect(pool: PgPoolOptions, options: PgConnectOptions) -> Result<Self, Error> {
        // Boxed, or every future that awaits this one has room for all that connecting takes.
        Self::verified(Box::pin(pool.connect_with(read_only(options))).await?).await
    }

    /// As [`connect`](Self::connect), but connects when the first statement does, and so checks nothing: call
    /// [`check`](Self::check) once the database is there. Never fails.
    ///
    /// # Panics
    /// Outside of a Tokio runtime, as every lazy pool of sqlx.
    #[must_use]
    pub fn connect_lazy(pool: PgPoolOptions, options: PgConnectOptions) -> Self {
        Self(pool.connect_lazy_with(read_only(options)))
    }

    /// A pool that is read-only by other means: `ALTER ROLE … SET default_transaction_read_only = on` for the role it
    /// connects as, say, which reaches through a pooler that takes no start-up options.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn verified(pool: PgPool) -> Result<Self, Error> {
        let pool = Self(pool);
        pool.check().await?;
        Ok(pool)
    }

    /// Checks on one connection that its session is read-only unless a statement asks for more.
    ///
    /// # Errors
    /// [`Error::Misconfigured`] if it is not; [`Error::Store`] if the database cannot be asked.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn check(&self) -> Result<(), Error> {
        // One message, for poolers that know no prepared statements.
        let sql = "SELECT current_setting('default_transaction_read_only')::bool";
        let row = (&self.0).fetch_one(sql).await?;
        if row.try_get(0)? {
            return Ok(());
        }
        Err(Error::Misconfigured(
            "the sessions of a pool for look-ups are not read-only: `default_transaction_read_only` is off, as behind a \
             pooler that drops start-up options; set it for the role, and hand the pool to `ReadOnly::verified`"
                .into(),
        ))
    }
}

/// An option given last wins, so this one cannot be lifted by those that are there.
#[cfg(feature = "postgres")]
fn read_only(options: PgConnectOptions) -> PgConnectOptions {
    options.options([("default_transaction_read_only", "on")])
}

#[cfg(feature = "sqlite")]
impl ReadOnly<SqlitePool> {
    /// Opens the file of `options` read-only; the file has to be there.
    ///
    /// SQLite then refuses every write to it, and to every file that a statement attaches, whatever the statement says.
    /// What is left are temporary tables, and copies that `VACUUM INTO` makes.
    ///
    /// For the file of a [`SqlitePools`](crate::SqlitePools), [`read_only`](crate::SqlitePools::read_only) is the
    /// shorter way.
    ///
    /// # Errors
    /// [`Error::Store`] if the file cannot be opened.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, it leaves no connection behind.
    pub async fn connect(pool: SqlitePoolOptions, options: SqliteConnectOptions) -> Result<Self, Error> {
        Ok(Self(pool.connect_with(options.read_only(true)).await?))
    }

    /// As [`connect`](Self::connect), but opens the file when the first statement does. Never fails.
    ///
    /// # Panics
    /// Outside of a Tokio runtime, as every lazy pool of sqlx.
    #[must_use]
    pub fn connect_lazy(pool: SqlitePoolOptions, options: SqliteConnectOptions) -> Self {
        Self(pool.connect_lazy_with(options.read_only(true)))
    }

    /// A pool whose connections were opened read-only.
    pub(crate) fn opened(pool: SqlitePool) -> Self {
        Self(pool)
    }
}

impl<P> Deref for ReadOnly<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.0
    }
}

/// The database refuses what would be written through it.
impl<P> Inert for ReadOnly<P> {}

impl<P: fmt::Debug> fmt::Debug for ReadOnly<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadOnly").field(&self.0).finish()
    }
}
