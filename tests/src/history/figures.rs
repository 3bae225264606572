//! A history in numbers: that it was not an easy one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::record::{Attempt, FaultKind, History, Outcome};
use super::said::Said;

/// How often each thing happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The requests sent.
    pub requests: usize,
    /// The keys, each within its scope.
    pub keys: usize,
    /// The requests by what came of them.
    pub outcomes: BTreeMap<String, usize>,
    /// The faults by kind.
    pub faults: BTreeMap<FaultKind, usize>,
    /// The rows made to expire.
    pub expiries: usize,
    /// The business rows.
    pub effects: usize,
    /// From the first request to the last answer.
    pub duration: Duration,
}

impl Figures {
    /// Counts a history.
    #[must_use]
    pub fn of(history: &History) -> Self {
        let mut figures = Self {
            requests: history.attempts.len(),
            keys: history.attempts.iter().map(|attempt| attempt.operation.at).collect::<BTreeSet<_>>().len(),
            expiries: history.expiries.len(),
            effects: history.effects.len(),
            duration: history.attempts.iter().map(|attempt| attempt.ended).max().unwrap_or_default(),
            ..Self::default()
        };
        for attempt in &history.attempts {
            *figures.outcomes.entry(outcome(attempt)).or_default() += 1;
        }
        for fault in &history.faults {
            *figures.faults.entry(fault.kind).or_default() += 1;
        }
        figures
    }

    /// What a history of some length must have had, or its checks would have had nothing to find.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let outcomes = [
            "201 first",
            "201 replayed",
            "402 replayed",
            "409 in progress",
            "422 reused",
            "422 replayed",
            "500 replayed",
            "hung up",
            "no answer",
        ];
        let mut missing = Vec::new();
        missing.extend(
            outcomes.iter().filter(|name| !self.outcomes.contains_key(**name)).map(ToString::to_string),
        );
        if !self.outcomes.keys().any(|name| name.starts_with("503")) {
            missing.push("503".to_owned());
        }
        for kind in [FaultKind::Kill, FaultKind::Terminate, FaultKind::Cut] {
            if !self.faults.contains_key(&kind) {
                missing.push(format!("{kind:?}"));
            }
        }
        if self.expiries == 0 {
            missing.push("expiries".to_owned());
        }
        missing
    }
}

/// What came of a request, in a few words.
fn outcome(attempt: &Attempt) -> String {
    let (Some(answer), Some(said)) = (attempt.answer(), attempt.said()) else {
        return if attempt.outcome == Outcome::HungUp {
            "hung up".to_owned()
        } else {
            "no answer".to_owned()
        };
    };
    let status = answer.status;
    match said {
        Said::Decided(decision) if decision.is_replay => format!("{status} replayed"),
        Said::Decided(_) => format!("{status} first"),
        Said::InProgress => format!("{status} in progress"),
        Said::Reused => format!("{status} reused"),
        Said::Failed(code) => format!("{status} {code}"),
        Said::Nonsense => format!("{status} nonsense"),
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests with {} keys in {:.1} s; {} business rows, {} expiries; ",
            self.requests,
            self.keys,
            self.duration.as_secs_f64(),
            self.effects,
            self.expiries
        )?;
        write!(f, "faults {:?}; answers {:?}", self.faults, self.outcomes)
    }
}
