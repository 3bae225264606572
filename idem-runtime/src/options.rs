//! What an attribute, a policy and the builder say of an operation, and what is in force for one request.

use std::time::Duration;

use http::StatusCode;

use crate::builder::{Defaults, LARGEST_RESPONSE};
use crate::key::{KeyFormat, Syntax};
use crate::outcome::RecordRule;
use crate::problem::{KeyPlace, Terms};
use crate::replay::ReplayHeaders;
use crate::store::Isolation;

/// The options of a handler or a policy; what is not given is left to the next one: the handler's own, then its
/// policy's, then the builder's, then the default.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Options {
    ttl_secs: Option<u64>,
    record: Option<RecordRule>,
    required: Option<bool>,
    in_progress: Option<InProgress>,
    endpoint: Option<&'static str>,
    header: Option<&'static str>,
    syntax: Option<Syntax>,
    key_format: Option<KeyFormat>,
    mismatch: Option<u16>,
    replay_headers: Option<&'static [&'static str]>,
    max_response: Option<usize>,
    isolation: Option<Isolation>,
    run_limit_secs: Option<u64>,
    fingerprint: Option<bool>,
}

/// What a duplicate does while the first request runs.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InProgress {
    /// It is told so at once: 409.
    Reject,
    /// It waits for so many milliseconds, and is told so then, with this status.
    Wait { limit_ms: u32, then: u16 },
}

impl InProgress {
    /// The status of the answer to a duplicate that is told so.
    fn status(self) -> StatusCode {
        match self {
            Self::Reject => StatusCode::CONFLICT,
            Self::Wait { then, .. } => status(then).unwrap_or(StatusCode::CONFLICT),
        }
    }

    /// How long a duplicate waits; `None` if it does not.
    pub(crate) fn limit(self) -> Option<Duration> {
        match self {
            Self::Reject => None,
            Self::Wait { limit_ms, .. } => Some(Duration::from_millis(limit_ms.into())),
        }
    }
}

fn status(number: u16) -> Option<StatusCode> {
    StatusCode::from_u16(number).ok()
}

/// One day.
const DEFAULT_TTL_SECS: u64 = 86_400;

/// Setters for a constant: what an expansion writes down.
macro_rules! setters {
    ($($field:ident: $setter:ident($ty:ty)),* $(,)?) => {
        $(
            #[must_use]
            pub const fn $setter(mut self, value: $ty) -> Self {
                self.$field = Some(value);
                self
            }
        )*
    };
}

impl Options {
    /// Nothing given.
    pub const NONE: Self = Self {
        ttl_secs: None,
        record: None,
        required: None,
        in_progress: None,
        endpoint: None,
        header: None,
        syntax: None,
        key_format: None,
        mismatch: None,
        replay_headers: None,
        max_response: None,
        isolation: None,
        run_limit_secs: None,
        fingerprint: None,
    };

    setters! {
        ttl_secs: ttl(u64),
        record: record(RecordRule),
        required: required(bool),
        in_progress: in_progress(InProgress),
        endpoint: endpoint(&'static str),
        header: header(&'static str),
        syntax: syntax(Syntax),
        key_format: key_format(KeyFormat),
        mismatch: mismatch(u16),
        replay_headers: replay_headers(&'static [&'static str]),
        isolation: isolation(Isolation),
        run_limit_secs: run_limit(u64),
        fingerprint: fingerprint(bool),
    }

    /// The largest body that is stored, in bytes.
    ///
    /// # Panics
    /// Out of its range, which in a constant is an error of the build.
    #[must_use]
    pub const fn max_response(mut self, bytes: usize) -> Self {
        assert!(0 < bytes && bytes <= LARGEST_RESPONSE, "`max_response` must be between 1 byte and 512 MiB");
        self.max_response = Some(bytes);
        self
    }

    /// These options, and where they say nothing those of `base`.
    pub(crate) fn over(self, base: Self) -> Self {
        Self {
            ttl_secs: self.ttl_secs.or(base.ttl_secs),
            record: self.record.or(base.record),
            required: self.required.or(base.required),
            in_progress: self.in_progress.or(base.in_progress),
            endpoint: self.endpoint.or(base.endpoint),
            header: self.header.or(base.header),
            syntax: self.syntax.or(base.syntax),
            key_format: self.key_format.or(base.key_format),
            mismatch: self.mismatch.or(base.mismatch),
            replay_headers: self.replay_headers.or(base.replay_headers),
            max_response: self.max_response.or(base.max_response),
            isolation: self.isolation.or(base.isolation),
            run_limit_secs: self.run_limit_secs.or(base.run_limit_secs),
            fingerprint: self.fingerprint.or(base.fingerprint),
        }
    }

    /// The name of the field that holds the key, which is read before the handler's own options are known.
    pub(crate) fn header_name(self, defaults: &Defaults) -> &str {
        self.header.unwrap_or(defaults.header.as_str())
    }

    /// Which spellings of the key are accepted.
    pub(crate) fn syntax_or(self, default: Syntax) -> Syntax {
        self.syntax.unwrap_or(default)
    }

    /// The options in force, with what the builder settles where they say nothing.
    pub(crate) fn rules(self, defaults: &Defaults) -> Rules {
        let in_progress = self.in_progress.unwrap_or(InProgress::Reject);
        Rules {
            ttl_secs: self.ttl_secs.unwrap_or(DEFAULT_TTL_SECS),
            run_limit: self.run_limit_secs.map_or(defaults.run_limit, Duration::from_secs),
            record: self.record.unwrap_or_default(),
            required: self.required.unwrap_or(true),
            in_progress,
            endpoint: self.endpoint,
            key_format: self.key_format.unwrap_or(defaults.key_format),
            terms: Terms {
                key: match self.header {
                    Some(spelt) => KeyPlace::Spelt(spelt),
                    None => KeyPlace::Header(defaults.header.clone()),
                },
                mismatch: self.mismatch.and_then(status).unwrap_or(defaults.mismatch),
                in_progress: in_progress.status(),
            },
            replay_headers: match self.replay_headers {
                Some(names) => ReplayHeaders::Written(names),
                None => defaults.replay_headers.clone(),
            },
            max_response: self.max_response.unwrap_or(defaults.max_response),
            isolation: self.isolation.or(defaults.isolation),
            compares: self.fingerprint.unwrap_or(defaults.compares),
        }
    }
}

/// The options in force for one request.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) ttl_secs: u64,
    /// As it was given: see [`run_limit`](Self::run_limit).
    run_limit: Duration,
    pub(crate) record: RecordRule,
    pub(crate) required: bool,
    pub(crate) in_progress: InProgress,
    /// The endpoint's own name, in place of method and route.
    pub(crate) endpoint: Option<&'static str>,
    pub(crate) key_format: KeyFormat,
    /// How its problems read.
    pub(crate) terms: Terms,
    pub(crate) replay_headers: ReplayHeaders,
    /// In bytes.
    pub(crate) max_response: usize,
    pub(crate) isolation: Option<Isolation>,
    /// Whether a retry is compared with the first request.
    pub(crate) compares: bool,
}

impl Rules {
    /// How long the handler may run. A row must not expire before its request ends, or its retry would run.
    pub(crate) fn run_limit(&self) -> Duration {
        self.run_limit.min(Duration::from_secs(self.ttl_secs))
    }

    /// Sets what a duplicate does while the first request runs.
    pub(crate) fn wait(&mut self, in_progress: InProgress) {
        self.in_progress = in_progress;
        self.terms.in_progress = in_progress.status();
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn defaults() -> Defaults {
        Defaults {
            header: HeaderName::from_static("idempotency-key"),
            syntax: Syntax::Lenient,
            key_format: KeyFormat::Any,
            mismatch: StatusCode::UNPROCESSABLE_ENTITY,
            replay_headers: ReplayHeaders::Written(&[]),
            max_response: 1024,
            isolation: None,
            run_limit: Duration::from_mins(1),
            compares: true,
        }
    }

    // A row could be committed that had expired already, and a retry at once ran.
    #[test]
    fn a_run_may_not_take_longer_than_its_key_lives() {
        let limit = |secs| Options::NONE.ttl(secs).rules(&defaults()).run_limit();

        assert_eq!(limit(5), Duration::from_secs(5));
        assert_eq!(limit(60), Duration::from_mins(1));
        assert_eq!(limit(61), Duration::from_mins(1));
    }

    #[test]
    fn the_handler_is_asked_before_its_policy_and_the_policy_before_the_builder() {
        let handler = Options::NONE.ttl(7).required(false);
        let policy = Options::NONE.ttl(8).mismatch(409).run_limit(2);

        let rules = handler.over(policy).rules(&defaults());

        assert_eq!((rules.ttl_secs, rules.required), (7, false));
        assert_eq!((rules.terms.mismatch, rules.run_limit()), (StatusCode::CONFLICT, Duration::from_secs(2)));
        assert_eq!((rules.max_response, rules.in_progress), (1024, InProgress::Reject));
    }
}
