//! How hard a client tries.

use std::time::Duration;

/// The settings of a client, each as its builder describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) total_time: Duration,
    pub(crate) max_attempts: u32,
    pub(crate) attempt_timeout: Duration,
    pub(crate) base_delay: Duration,
    pub(crate) max_delay: Duration,
    pub(crate) max_retry_after: Duration,
    pub(crate) max_age: Duration,
    /// In bytes.
    pub(crate) max_answer: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            total_time: Duration::from_mins(1),
            max_attempts: u32::MAX,
            attempt_timeout: Duration::from_secs(30),
            base_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            max_retry_after: Duration::from_mins(1),
            max_age: Duration::from_hours(23),
            max_answer: 16 << 20,
        }
    }
}
