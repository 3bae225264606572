//! What a readiness probe and an operator ask of an engine.

use sqlx::Connection as _;
use tokio::time::timeout;

use crate::error::Error;
use crate::held::Held;
use crate::idempotency::{Idempotency, Inner};
use crate::store::{Cause, Store};

/// How an engine is, as [`Idempotency::health`] finds it while its database answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Whether keys are looked at: what the builder's `enabled` was told.
    pub is_enabled: bool,
    /// Whether the engine has been told to [drain](Idempotency::drain), and refuses requests with a key.
    #[cfg(feature = "axum")]
    pub is_draining: bool,
    /// How many keys this process is working on: each from the moment its request looks for a connection until the
    /// request is answered. Duplicates that wait for one of them do not count.
    #[cfg(feature = "axum")]
    pub keys_in_progress: usize,
}

impl Health {
    /// Whether requests should be sent here: whether the engine does not drain.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        #[cfg(feature = "axum")]
        return !self.is_draining;
        #[cfg(not(feature = "axum"))]
        return true;
    }
}

impl<DB: Store> Idempotency<DB> {
    /// Asks the database whether a request with a key could be served, and gives what there is to know of the engine.
    ///
    /// Within the builder's `acquire_timeout` it takes a connection that need not write, and reads from the table by
    /// its primary key: one message, whatever the table's size. The first time, and until the table is found right, it
    /// checks it as [`check`](Self::check) does. It does not write, so it cannot tell that a disk is full; on SQLite it
    /// leaves the writer alone, so it does not tell that a handler holds it. An engine that is switched off needs no
    /// table, so that it is only asked whether the connection works.
    ///
    /// For a probe of readiness, which takes a server out of a load balancer, not for one of liveness: nothing that it
    /// finds is cured by a restart.
    ///
    /// # Errors
    /// [`Error::Store`] if the database cannot be reached, does not answer, or has no connection free in time;
    /// [`Error::Misconfigured`] as for [`check`](Self::check), or if the table has been dropped since;
    /// [`Error::ReadOnly`] if a PostgreSQL server takes no writes.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads. Dropped, it closes its connection.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(all(feature = "axum", feature = "postgres"))] mod example {
    /// use axum::extract::State;
    /// use axum::http::StatusCode;
    /// use axum::routing::{Router, get};
    /// use idem_runtime::Idempotency;
    /// use sqlx::Postgres;
    ///
    /// async fn ready(State(idempotency): State<Idempotency<Postgres>>) -> (StatusCode, String) {
    ///     match idempotency.health().await {
    ///         Ok(health) if health.is_ready() => (StatusCode::OK, "ready".to_owned()),
    ///         Ok(health) => {
    ///             let left = format!("draining, {} keys in progress", health.keys_in_progress);
    ///             (StatusCode::SERVICE_UNAVAILABLE, left)
    ///         }
    ///         // Its source has more, for the log rather than for everybody who asks.
    ///         Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    ///     }
    /// }
    ///
    /// fn router(idempotency: Idempotency<Postgres>) -> Router {
    ///     Router::new().route("/health", get(ready)).with_state(idempotency)
    /// }
    /// # }
    /// ```
    pub async fn health(&self) -> Result<Health, Error> {
        let engine = &self.0;
        // Boxed, or whoever calls it has room for all of sqlx's futures.
        match timeout(engine.http.acquire_timeout, Box::pin(engine.ask())).await {
            Ok(asked) => asked?,
            Err(elapsed) => return Err(Error::Store(sqlx::Error::Io(elapsed.into()))),
        }
        Ok(Health {
            is_enabled: engine.http.is_enabled,
            #[cfg(feature = "axum")]
            is_draining: engine.tasks.are_draining(),
            #[cfg(feature = "axum")]
            keys_in_progress: engine.in_process.len(),
        })
    }
}

impl<DB: Store> Inner<DB> {
    /// Asks whether the table can be read and written, if it is used.
    async fn ask(&self) -> Result<(), Error> {
        let mut held = Held::new(DB::acquire_reader(&self.pools).await?);
        if !self.http.is_enabled {
            held.connection().ping().await?;
            held.release().await;
            return Ok(());
        }
        self.check(held.connection()).await?;
        let takes_writes = match DB::takes_writes(held.connection(), &self.statements).await {
            Ok(takes_writes) => takes_writes,
            // It was right once: say what has become of it.
            Err(error) if Cause::of(&error) == Cause::Misconfigured => {
                let complaint = DB::check(held.connection(), &self.settings).await?;
                return Err(complaint.map_or(Error::Store(error), Error::Misconfigured));
            }
            Err(error) => return Err(error.into()),
        };
        held.release().await;
        if takes_writes { Ok(()) } else { Err(Error::ReadOnly) }
    }
}
