//! The handle of an engine.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "axum")]
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::builder::{Builder, Defaults, HttpSettings};
use crate::error::Error;
use crate::held::Held;
#[cfg(feature = "axum")]
use crate::in_process::InProcess;
use crate::inert::Inert;
use crate::key::IdempotencyKey;
use crate::scope::Scope;
use crate::store::{Address, Found, KeyRow, Settings, Source, Store};
use crate::sweeper::Sweeper;
#[cfg(feature = "axum")]
use crate::tasks::{Tasks, Wrapper};

/// The engine behind `#[idempotent]`: a database, a table and the settings of an application.
///
/// Cheap to clone; keep one in the router's state, from which the attribute takes it through
/// `axum::extract::FromRef`. Two engines on the same table work together as two processes do.
pub struct Idempotency<DB: Store>(pub(crate) Arc<Inner<DB>>);

pub(crate) struct Inner<DB: Store> {
    pub(crate) pools: DB::Pools,
    pub(crate) statements: DB::Statements,
    pub(crate) settings: Settings,
    pub(crate) http: HttpSettings,
    pub(crate) defaults: Defaults,
    #[cfg(feature = "axum")]
    pub(crate) in_process: InProcess,
    #[cfg(feature = "axum")]
    pub(crate) tasks: Tasks,
    /// Cancelled by a drain, and once the engine is gone: the sweepers end.
    pub(crate) sweepers: CancellationToken,
    is_checked: AtomicBool,
}

impl<DB: Store> Idempotency<DB> {
    /// Begins an engine on a [`sqlx::PgPool`] or on `SqlitePools`.
    pub fn builder<S: Source<Database = DB>>(source: S) -> Builder<DB> {
        Builder::new(source.into_pools())
    }

    pub(crate) fn new(
        pools: DB::Pools,
        settings: Settings,
        http: HttpSettings,
        defaults: Defaults,
        #[cfg(feature = "axum")] wrapper: Wrapper,
    ) -> Self {
        Self(Arc::new(Inner {
            pools,
            statements: DB::statements(&settings),
            settings,
            http,
            defaults,
            #[cfg(feature = "axum")]
            in_process: InProcess::default(),
            #[cfg(feature = "axum")]
            tasks: Tasks::new(wrapper),
            sweepers: CancellationToken::new(),
            is_checked: AtomicBool::new(false),
        }))
    }

    /// Creates the table where it is missing, then checks it as [`check`](Self::check) does.
    ///
    /// Safe from several processes at once; touches no other table, so not the application's own record of its
    /// migrations. The SQL lies in the crate's folder `migrations`, for teams that run it themselves.
    ///
    /// # Errors
    /// [`Error::Store`] if the database refuses, as it does a role that may not create tables;
    /// [`Error::Misconfigured`] if a table of that name is there and will not do.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropped, it may leave a transaction open on a pooled connection (sqlx issue 4385). Call it at
    /// start-up.
    pub async fn migrate(&self) -> Result<(), Error> {
        DB::migrate(&self.0.pools, &self.0.settings).await?;
        self.check().await
    }

    /// Checks that the table is there and such that the guarantees hold. Without this call the first reservation
    /// checks it.
    ///
    /// # Errors
    /// [`Error::Misconfigured`] if the table is missing or lacks a column, has no primary key on `id` alone or a
    /// deferrable one, is temporary or unlogged, has row-level security that applies to this role, or is not granted
    /// to it; [`Error::Store`] if the database cannot be asked.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn check(&self) -> Result<(), Error> {
        let mut connection = DB::acquire_reader(&self.0.pools).await?;
        self.0.check(&mut connection).await
    }

    /// Refuses new requests with a key (503), waits up to `limit` for those that run, and drops the rest, whose
    /// clients are answered 503 with an unknown outcome. Gives the number of requests dropped, those that waited
    /// for one of them included; 0 if all ended by themselves. Ends the [sweepers](Sweeper) too; a batch in progress
    /// is not waited for.
    ///
    /// Call it while the server stops, not after: axum's graceful shutdown waits for its connections without a limit, so
    /// for a handler that is stuck, and does not wait for a handler whose client has left. 30 s is a limit to begin with.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "postgres")] mod example {
    /// use std::time::Duration;
    ///
    /// use idem_runtime::Idempotency;
    /// use sqlx::Postgres;
    ///
    /// const DRAIN_LIMIT: Duration = Duration::from_secs(30);
    ///
    /// async fn serve(
    ///     listener: tokio::net::TcpListener,
    ///     app: axum::Router,
    ///     idempotency: Idempotency<Postgres>,
    ///     told_to_stop: impl Future<Output = ()> + Send + 'static,
    /// ) -> std::io::Result<()> {
    ///     let draining = idempotency.clone();
    ///     let stop = async move {
    ///         told_to_stop.await;
    ///         tokio::spawn(async move { draining.drain(DRAIN_LIMIT).await });
    ///     };
    ///     axum::serve(listener, app).with_graceful_shutdown(stop).await?;
    ///     idempotency.drain(DRAIN_LIMIT).await;
    ///     Ok(())
    /// }
    /// # }
    /// ```
    ///
    /// # Cancel safety
    /// Dropped while it waits, it goes on refusing and drops nothing; it may be called again.
    #[cfg(feature = "axum")]
    pub async fn drain(&self, limit: Duration) -> usize {
        self.0.sweepers.cancel();
        self.0.tasks.drain(limit).await
    }

    /// Reads the live row of `key` within `scope`, or `None` if there is none: never seen, expired, rolled back, or
    /// its first request still runs.
    ///
    /// # Errors
    /// [`Error::Store`] if the database cannot be asked.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads. Dropped, it closes its connection.
    pub async fn find(&self, scope: &Scope, key: &IdempotencyKey) -> Result<Option<KeyRow>, Error> {
        let address = Address::new(&self.0.settings.table, scope, key);
        self.0.find(&address).await
    }

    /// Deletes the row of `key` within `scope`, expired or not, so that the next request with the key runs. `true` if
    /// there was one. The row of a first request that still runs is not there yet: `false`, and it appears once the
    /// request commits.
    ///
    /// The way out of a row whose handler ended its own transaction, once a person has looked what came of it.
    ///
    /// # Errors
    /// [`Error::Store`] if the database refuses.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, the row is deleted or it is not, and the connection is closed.
    pub async fn forget(&self, scope: &Scope, key: &IdempotencyKey) -> Result<bool, Error> {
        let address = Address::new(&self.0.settings.table, scope, key);
        self.0.forget(&address).await
    }

    /// What deletes expired rows, to be told how and started.
    pub fn sweeper(&self) -> Sweeper<DB> {
        Sweeper::new(self.clone())
    }

    /// Deletes the rows of expired keys, in batches with pauses between them, and gives their number:
    /// [`Sweeper::sweep_once`] with the default batch.
    ///
    /// # Errors
    /// [`Error::Store`] if the database refuses or has no connection free within the builder's `acquire_timeout`. The
    /// batches before stay deleted.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, the batch in progress is deleted or it is not, and the connection is closed.
    pub async fn sweep_once(&self) -> Result<u64, Error> {
        self.sweeper().sweep_once().await
    }
}

impl<DB: Store> Inner<DB> {
    /// Takes a connection that can write, within the acquire time-out.
    ///
    /// # Errors
    /// The pool's; [`sqlx::Error::PoolTimedOut`] also for this time-out.
    pub(crate) async fn take_connection(&self) -> Result<Held<DB>, sqlx::Error> {
        match tokio::time::timeout(self.http.acquire_timeout, DB::acquire(&self.pools)).await {
            Ok(connection) => Ok(Held::new(connection?)),
            Err(_elapsed) => Err(sqlx::Error::PoolTimedOut),
        }
    }

    /// Reads the live row at an address.
    pub(crate) async fn find(&self, address: &Address) -> Result<Option<KeyRow>, Error> {
        let mut held = Held::new(DB::acquire_reader(&self.pools).await?);
        let found = DB::find(held.connection(), &self.statements, address).await?;
        held.release().await;
        Ok(match found {
            Some(Found::Completed(row) | Found::Broken(row) | Found::Message(row)) => Some(*row),
            Some(Found::Collision) | None => None,
        })
    }

    /// Deletes the row at an address.
    pub(crate) async fn forget(&self, address: &Address) -> Result<bool, Error> {
        let mut held = Held::new(DB::acquire(&self.pools).await?);
        let is_forgotten = DB::forget(held.connection(), &self.statements, address).await?;
        held.release().await;
        Ok(is_forgotten)
    }

    /// Checks the table, once for as long as it is found right.
    pub(crate) async fn check(&self, connection: &mut DB::Connection) -> Result<(), Error> {
        if self.is_checked.load(Ordering::Relaxed) {
            return Ok(());
        }
        match DB::check(connection, &self.settings).await? {
            None => {
                self.is_checked.store(true, Ordering::Relaxed);
                Ok(())
            }
            Some(complaint) => Err(Error::Misconfigured(complaint)),
        }
    }
}

impl<DB: Store> Drop for Inner<DB> {
    fn drop(&mut self) {
        self.sweepers.cancel();
    }
}

// By hand: a derive would ask `DB: Clone`, which no database is.
impl<DB: Store> Clone for Idempotency<DB> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// It writes key rows only, and those of a run in the run's own transaction.
impl<DB: Store> Inert for Idempotency<DB> {}

impl<DB: Store> fmt::Debug for Idempotency<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency")
            .field("table", &self.0.settings.table.qualified())
            .finish_non_exhaustive()
    }
}
