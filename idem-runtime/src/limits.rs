//! How long a row is kept, how long a statement may take, and how often one is tried again.

use std::future::Future;
use std::time::Duration;

/// How long a statement of the engine may take once the handler has run. A server that does not reply within it will
/// hardly do so later, and the client has given up.
pub(crate) const STATEMENT_LIMIT: Duration = Duration::from_secs(10);

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

/// The longest TTL, in seconds: ten years of 365 days.
const LONGEST_TTL_SECS: u64 = 10 * 365 * 86_400;

/// A TTL in whole seconds, rounded up, within the range that one has.
pub(crate) fn ttl_secs(ttl: Duration) -> u64 {
    let secs = ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0));
    secs.clamp(1, LONGEST_TTL_SECS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_rounded_up_and_kept_within_its_range() {
        assert_eq!(ttl_secs(Duration::ZERO), 1);
        assert_eq!(ttl_secs(Duration::from_millis(90_001)), 91);
        assert_eq!(ttl_secs(Duration::from_secs(90)), 90);
        assert_eq!(ttl_secs(Duration::MAX), LONGEST_TTL_SECS);
    }
}
