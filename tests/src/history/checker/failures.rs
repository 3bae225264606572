//! What went wrong, and whether a fault is to blame for it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::operation::{Endpoint, ScopedKey};
use super::super::record::{Attempt, FaultKind, History, Outcome};
use super::super::said::Said;
use super::{Rule, Violation};

/// How long a session may live on that the server was asked to end.
const LATE: Duration = Duration::from_secs(1);

pub(super) fn check(history: &History, violations: &mut Vec<Violation>) {
    let mut attempts: Vec<_> = history.attempts.iter().collect();
    attempts.sort_by_key(|attempt| attempt.ended);

    let is_failed = |attempt: &&Attempt| matches!(attempt.said(), Some(Said::Failed(_)));
    let mut blamed = Blamed::default();
    let (hit, others): (Vec<_>, Vec<_>) =
        attempts.iter().copied().filter(is_failed).partition(|attempt| blamed.explains(history, attempt));
    let unexplained =
        others.into_iter().filter(|attempt| !hit.iter().any(|hit| may_have_waited(attempt, hit)));
    let unexplained = unexplained.map(|attempt| (Rule::FailureByFault, attempt));

    let silent = attempts.iter().copied().filter(|attempt| attempt.outcome == Outcome::Silence);
    let silent = silent.filter(|attempt| !is_killed(history, attempt));
    for (rule, attempt) in unexplained.chain(silent.map(|attempt| (Rule::SilenceByFault, attempt))) {
        let (at, detail) = (Some(attempt.operation.at), attempt.to_string());
        violations.push(Violation { rule, at, detail });
    }
}

/// Whether a request may have waited for one that a fault hit. It shares that one's failure then, though it came after
/// the fault.
fn may_have_waited(attempt: &Attempt, hit: &Attempt) -> bool {
    attempt.process == hit.process
        && attempt.operation.at == hit.operation.at
        && attempt.began <= hit.ended
        && hit.began <= attempt.ended
}

/// Whether the process of a request died while it was under way, or its handler panics.
fn is_killed(history: &History, attempt: &Attempt) -> bool {
    attempt.operation.at.endpoint == Endpoint::Panic
        || history.faults.iter().any(|fault| {
            fault.kind == FaultKind::Kill
                && fault.process == attempt.process
                && fault.began <= attempt.ended
                && attempt.began <= fault.ended
        })
}

/// The faults that were found to be to blame, and for which key. A connection serves one run at a time, so a fault of
/// one hits the requests of one key: the run itself and those that wait for what it finds out.
#[derive(Default)]
struct Blamed(BTreeMap<usize, ScopedKey>);

impl Blamed {
    /// Finds a fault for the failure of a request. They come in the order of their ends, and each is given the
    /// earliest fault that it can have, so that one is left for the next wherever that is possible.
    fn explains(&mut self, history: &History, attempt: &Attempt) -> bool {
        let candidates = history.faults.iter().enumerate().filter(|(_, fault)| {
            let ended = fault.ended + if fault.kind == FaultKind::Terminate { LATE } else { Duration::ZERO };
            fault.kind != FaultKind::Kill
                && fault.process == attempt.process
                && fault.began <= attempt.ended
                && attempt.began <= ended
        });
        let candidates: Vec<_> = candidates.map(|(index, fault)| (fault.began, index)).collect();
        let at = attempt.operation.at;
        if candidates.iter().any(|(_, index)| self.0.get(index) == Some(&at)) {
            return true;
        }
        let free = candidates.iter().filter(|(_, index)| !self.0.contains_key(index)).min();
        free.is_some_and(|(_, index)| self.0.insert(*index, at).is_none())
    }
}
