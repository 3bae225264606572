//! How long a statement may take, and how often one is tried again.

use std::future::Future;
use std::time::Duration;

/// How long a statement of the engine may take once the handler has run. A server that does not reply within it will
/// hardly do so later, and the client has given up.
const STATEMENT_LIMIT: Duration = Duration::from_secs(10);

/// The statement's result; after [`STATEMENT_LIMIT`], that no reply came.
pub(crate) async fn within<T>(
    statement: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    match tokio::time::timeout(STATEMENT_LIMIT, statement).await {
        Ok(result) => result,
        Err(elapsed) => Err(sqlx::Error::Io(elapsed.into())),
    }
}

/// How often a reservation, or the storing of a failed answer, begins again after losing a race.
pub(crate) const RETRIES: usize = 3;
