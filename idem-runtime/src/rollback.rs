//! How a transaction is rolled back, and what that leaves of its connection.

use sqlx_core::transaction::TransactionManager;

use crate::held::END_LIMIT;
use crate::store::{Store, shown};

/// Whether a connection may go back to its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Its transaction ended with the database's word.
    Clean,
    /// It did not, or nobody knows: the connection is closed.
    Suspect,
}

/// What became of a ROLLBACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RolledBack {
    /// The database says that it is done.
    Acknowledged,
    /// It failed or took too long; nothing was committed, so nothing stays.
    Failed,
    /// There was no transaction any more: the handler had ended it.
    Lost,
}

impl RolledBack {
    pub(crate) fn condition(self) -> Condition {
        if self == Self::Acknowledged { Condition::Clean } else { Condition::Suspect }
    }
}

/// Rolls back to depth 0, through whatever the handler left nested.
pub(crate) async fn roll_back<DB: Store>(connection: &mut DB::Connection) -> RolledBack {
    if DB::TransactionManager::get_transaction_depth(connection) == 0 {
        return RolledBack::Lost;
    }
    let to_depth_zero = async {
        while DB::TransactionManager::get_transaction_depth(connection) > 0 {
            if let Err(error) = DB::TransactionManager::rollback(connection).await {
                if DB::is_rolled_back(&error) {
                    return Ok(());
                }
                // The reply may be that to a statement which the handler gave up; the second is ROLLBACK's own.
                if !matches!(error, sqlx::Error::Database(_)) {
                    return Err(error);
                }
                DB::TransactionManager::rollback(connection).await?;
            }
        }
        Ok::<(), sqlx::Error>(())
    };
    match tokio::time::timeout(END_LIMIT, to_depth_zero).await {
        Ok(Ok(())) => RolledBack::Acknowledged,
        Ok(Err(error)) => {
            tracing::warn!(error = %shown(&error), "a ROLLBACK failed; its connection is closed");
            RolledBack::Failed
        }
        Err(_elapsed) => {
            tracing::warn!("a ROLLBACK took too long; its connection is closed");
            RolledBack::Failed
        }
    }
}
