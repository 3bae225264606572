//! What an attribute says of its operation.

use std::time::Duration;

use crate::outcome::RecordRule;

/// The options of a handler or a policy; what is not given is left to the next one: the handler's own, then its
/// policy's, then the default.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Options {
    ttl_secs: Option<u64>,
    record: Option<RecordRule>,
}

/// One day.
const DEFAULT_TTL_SECS: u64 = 86_400;

impl Rules {
    /// How long a run may take: a row must not expire before its request ends, or its retry would run.
    pub(crate) fn run_limit(&self, limit: Duration) -> Duration {
        limit.min(Duration::from_secs(self.ttl_secs))
    }
}

impl Options {
    /// Nothing given.
    pub const NONE: Self = Self { ttl_secs: None, record: None };

    /// The TTL in seconds.
    #[must_use]
    pub const fn ttl(mut self, secs: u64) -> Self {
        self.ttl_secs = Some(secs);
        self
    }

    /// Which answers are stored.
    #[must_use]
    pub const fn record(mut self, rule: RecordRule) -> Self {
        self.record = Some(rule);
        self
    }

    /// These options, and where they say nothing those of `base`.
    pub(crate) fn over(self, base: Self) -> Rules {
        Rules {
            ttl_secs: self.ttl_secs.or(base.ttl_secs).unwrap_or(DEFAULT_TTL_SECS),
            record: self.record.or(base.record).unwrap_or(RecordRule::Decided),
        }
    }
}

/// The options in force for one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) ttl_secs: u64,
    pub(crate) record: RecordRule,
}

#[cfg(test)]
mod tests {
    use super::*;

    // A row could be committed that had expired already, and a retry at once ran.
    #[test]
    fn a_run_may_not_take_longer_than_its_key_lives() {
        let rules = |secs| Options::NONE.ttl(secs).over(Options::NONE);
        let limit = Duration::from_mins(1);

        assert_eq!(rules(5).run_limit(limit), Duration::from_secs(5));
        assert_eq!(rules(60).run_limit(limit), limit);
        assert_eq!(rules(61).run_limit(limit), limit);
    }
}
