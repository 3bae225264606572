//! A pooled connection that is given back only if it ended well.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx_core::transaction::TransactionManager;

use crate::rollback::Condition;
use crate::store::Store;

/// How long the end of a transaction is awaited: its ROLLBACK, or the server's last word on it.
pub(crate) const END_LIMIT: Duration = Duration::from_secs(5);

/// How long the end of a connection is awaited.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// A pooled connection that is closed unless it is known to have ended well.
///
/// A connection that ended badly may still be inside a transaction; given back to the pool, it would take the next
/// user's writes into it.
pub(crate) struct Held<DB: Store>(Option<PoolConnection<DB>>);

impl<DB: Store> Held<DB> {
    pub(crate) fn new(connection: PoolConnection<DB>) -> Self {
        Self(Some(connection))
    }

    /// The connection.
    ///
    /// # Panics
    /// Without one. A run waits without one, and has one whenever it asks the database.
    pub(crate) fn connection(&mut self) -> &mut DB::Connection {
        self.0.as_mut().expect("held until it is released or closed")
    }

    /// Gives the connection back to the pool, or closes it if a transaction is open on it after all. Without one,
    /// nothing.
    pub(crate) async fn release(&mut self) {
        let Some(connection) = &mut self.0 else { return };
        if DB::TransactionManager::get_transaction_depth(connection) == 0 {
            drop(self.0.take());
        } else {
            self.close().await;
        }
    }

    /// Releases or closes the connection, by what is known of it. Without one, nothing.
    pub(crate) async fn end(&mut self, condition: Condition) {
        match condition {
            Condition::Clean => self.release().await,
            Condition::Suspect => self.close().await,
        }
    }

    /// Closes the connection, and with it whatever it left open; the pool opens another when it needs one.
    pub(crate) async fn close(&mut self) {
        if let Some(mut connection) = self.0.take() {
            connection.close_on_drop();
            // Awaited so that a retry does not meet the lock of a transaction that is as good as gone, but not for long:
            // it may hang for the reason for which the connection is closed.
            drop(tokio::time::timeout(CLOSE_LIMIT, connection.close()).await);
        }
    }
}

impl<DB: Store> Drop for Held<DB> {
    fn drop(&mut self) {
        if let Some(connection) = &mut self.0 {
            connection.close_on_drop();
        }
    }
}

impl<DB: Store> std::fmt::Debug for Held<DB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}
