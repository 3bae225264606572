//! The outcomes of a request: a closed list, each derived from the answer.

use crate::answer::{Answer, Fate};
use crate::problem::Problem;

/// How a request ended. `docs/observability.md` defines each; what the library answers itself is named as the `code` of
/// its body ends, but for the two that have shorter names of old, `rejected` and `mismatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOutcome {
    /// The handler ran and its transaction committed, with the answer.
    Executed,
    /// The handler ran and failed, its writes are gone, and its answer is stored.
    Failed,
    /// The same, and nothing is stored: a retry runs.
    FailedUnstored,
    /// The handler panicked and its writes are gone.
    Panicked,
    /// The handler ran without a key, whatever it answered.
    Unprotected,
    /// The stored answer of another request with the key was given.
    Replayed,
    /// The client left before anything had begun.
    Abandoned,
    Rejected,
    InProgress,
    Mismatch,
    NeedsReconciliation,
    StoreUnavailable,
    Transient,
    OutcomeUnknown,
    ScopeUnresolved,
    FingerprintFailed,
    ResponseNotStorable,
    CommitRejected,
    StoreMisconfigured,
}

impl RequestOutcome {
    /// What `answer` is to a request that has a key or, if it is not `keyed`, runs without one.
    pub(super) fn of(answer: &Answer, keyed: bool) -> Self {
        match answer {
            Answer::First(..) if !keyed => Self::Unprotected,
            Answer::First(_, Fate::Committed) => Self::Executed,
            Answer::First(_, Fate::Recorded) => Self::Failed,
            Answer::First(_, Fate::Forgotten) => Self::FailedUnstored,
            Answer::Replay(_) => Self::Replayed,
            Answer::Problem(problem) => (*problem).into(),
        }
    }

    /// The word for logs and labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Failed => "failed",
            Self::FailedUnstored => "failed_unstored",
            Self::Panicked => "panicked",
            Self::Unprotected => "unprotected",
            Self::Replayed => "replayed",
            Self::Abandoned => "abandoned",
            Self::Rejected => "rejected",
            Self::InProgress => "in_progress",
            Self::Mismatch => "mismatch",
            Self::NeedsReconciliation => "needs_reconciliation",
            Self::StoreUnavailable => "store_unavailable",
            Self::Transient => "transient",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::ScopeUnresolved => "scope_unresolved",
            Self::FingerprintFailed => "fingerprint_failed",
            Self::ResponseNotStorable => "response_not_storable",
            Self::CommitRejected => "commit_rejected",
            Self::StoreMisconfigured => "store_misconfigured",
        }
    }
}

impl From<Problem> for RequestOutcome {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::KeyMissing | Problem::KeyInvalid(_) => Self::Rejected,
            Problem::InProgress => Self::InProgress,
            Problem::KeyReused => Self::Mismatch,
            Problem::NeedsReconciliation => Self::NeedsReconciliation,
            Problem::StoreUnavailable => Self::StoreUnavailable,
            Problem::Transient => Self::Transient,
            Problem::OutcomeUnknown => Self::OutcomeUnknown,
            Problem::ScopeUnresolved => Self::ScopeUnresolved,
            Problem::FingerprintFailed => Self::FingerprintFailed,
            Problem::ResponseNotStorable => Self::ResponseNotStorable,
            Problem::CommitRejected => Self::CommitRejected,
            Problem::StoreMisconfigured => Self::StoreMisconfigured,
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::response::Response;
    use bytes::Bytes;
    use http::response::Parts;

    use super::*;
    use crate::key::KeyError;
    use crate::problem::Terms;
    use crate::replay::{ReplayHeaders, StoredResponse};

    fn head() -> Parts {
        Response::new(()).into_parts().0
    }

    fn first(fate: Fate) -> Answer {
        Answer::First(Response::default(), fate)
    }

    #[test]
    fn an_answer_of_the_handler_is_what_became_of_its_run() {
        let of = |fate| RequestOutcome::of(&first(fate), true).as_str();

        assert_eq!(of(Fate::Committed), "executed");
        assert_eq!(of(Fate::Recorded), "failed");
        assert_eq!(of(Fate::Forgotten), "failed_unstored");
    }

    #[test]
    fn an_answer_of_the_handler_without_a_key_is_unprotected_whatever_became_of_its_run() {
        for fate in [Fate::Committed, Fate::Recorded, Fate::Forgotten] {
            assert_eq!(RequestOutcome::of(&first(fate), false).as_str(), "unprotected");
        }
    }

    #[test]
    fn a_stored_answer_is_replayed() {
        let stored = StoredResponse::keep(&head(), Bytes::new(), &ReplayHeaders::Written(&[]));

        assert_eq!(RequestOutcome::of(&Answer::Replay(stored), true).as_str(), "replayed");
    }

    #[test]
    fn an_answer_of_the_library_has_the_name_of_its_code_or_one_of_the_two_short_names() {
        let problems = [
            Problem::InProgress,
            Problem::NeedsReconciliation,
            Problem::StoreUnavailable,
            Problem::Transient,
            Problem::OutcomeUnknown,
            Problem::ScopeUnresolved,
            Problem::FingerprintFailed,
            Problem::ResponseNotStorable,
            Problem::CommitRejected,
            Problem::StoreMisconfigured,
        ];
        // With and without a key: what the library answers does not rest on it.
        for (problem, keyed) in problems.iter().flat_map(|problem| [(*problem, true), (*problem, false)]) {
            let outcome = RequestOutcome::of(&problem.into(), keyed).as_str();
            assert_eq!(format!("idempotency_{outcome}"), problem.code(&Terms::default()));
        }

        let outcome = |problem| RequestOutcome::from(problem).as_str();
        assert_eq!(outcome(Problem::KeyMissing), "rejected");
        assert_eq!(outcome(Problem::KeyInvalid(KeyError::Syntax)), "rejected");
        assert_eq!(outcome(Problem::KeyReused), "mismatch");
    }
}
