//! The sender's own clock. It decides how old an operation is, and turns the dates of others into waits; the database's
//! clock is far away.

use std::time::{Duration, SystemTime};

/// The time now.
#[expect(clippy::disallowed_methods, reason = "a sender has no database to ask")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// Whole seconds since the beginning of 1970; none for a time before it.
pub(crate) fn unix_secs(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).as_ref().map_or(0, Duration::as_secs)
}
