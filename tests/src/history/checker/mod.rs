//! From a history to what contradicts the promises: a pure function.
//!
//! Each key's part of the history is judged by itself (`story`), but for the faults, which are shared (`failures`).
//! What is a violation is one in every order that the times allow.

mod answers;
mod failures;
#[cfg(test)]
mod made;
mod refusals;
mod runs;
mod story;
#[cfg(test)]
mod tests;
mod traces;

use std::collections::BTreeSet;
use std::fmt;

use super::operation::ScopedKey;
use super::record::History;
use story::Story;

/// A promise that a history breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A key has at most one effect in each window of its TTL.
    OneEffect,
    /// What was rolled back leaves no effect.
    NothingAfterRollback,
    /// An effect belongs to the tenant who asked for it.
    OwnTenant,
    /// There is one key row for a scope and a key.
    OneRecord,
    /// An effect and the record of its answer are there together or not at all.
    EffectWithRecord,
    /// A handler's answer is given only if its effect is there.
    AnswerWithEffect,
    /// A handler's answer is given only if its record is there.
    AnswerWithRecord,
    /// A handler's answer speaks of the operation that was asked for.
    OwnAnswer,
    /// All answers of a handler to one key in one window are the same, byte for byte, and the stored one.
    SameAnswer,
    /// In one window at most one answer is not a replay.
    OneFirstAnswer,
    /// In one window only one payload is answered by the handler.
    OnePayload,
    /// A request is told that another is in progress only if one may be.
    TrueInProgress,
    /// A request is told that its key is used for another only if it may be.
    TrueReuse,
    /// A request is told of a failure only if a fault hit its process, and one fault hits one key.
    FailureByFault,
    /// A connection ends without an answer only if its process died or its handler panicked.
    SilenceByFault,
    /// An effect, or an answer that is replayed, comes from a request that may have run: not from one that was told that
    /// it had no effect.
    SomebodyRan,
    /// Nothing is in the database that nobody asked for.
    NothingUnasked,
    /// Whatever is sent often enough gets its final answer.
    FinalAnswer,
    /// An answer is one of those that the endpoint gives.
    KnownAnswer,
}

/// A contradiction between a history and a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise.
    pub rule: Rule,
    /// The key that it was broken for; none if nobody has sent it.
    pub at: Option<ScopedKey>,
    /// What contradicts it.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{:?}, {at}: {}", self.rule, self.detail),
            None => write!(f, "{:?}: {}", self.rule, self.detail),
        }
    }
}

/// Everything in `history` that contradicts a promise.
#[must_use]
pub fn check(history: &History) -> Vec<Violation> {
    let mut violations = Vec::new();
    for story in Story::all(history) {
        let mut report = Report { at: story.at, violations: &mut violations };
        traces::check(&story, &mut report);
        answers::check(&story, &mut report);
        refusals::check(&story, &mut report);
        runs::check(&story, &mut report);
    }
    unasked_records(history, &mut violations);
    failures::check(history, &mut violations);
    for operation in &history.given_up {
        let detail = format!("{operation} was given up");
        violations.push(Violation { rule: Rule::FinalAnswer, at: Some(operation.at), detail });
    }
    violations
}

/// Key rows of no key that was sent, such as those of another scope.
fn unasked_records(history: &History, violations: &mut Vec<Violation>) {
    let sent: BTreeSet<_> = history.attempts.iter().map(|attempt| attempt.operation.at.row()).collect();
    for record in history.records.iter().filter(|record| !sent.contains(&record.row)) {
        let detail = format!("a record of {:?}", record.row);
        violations.push(Violation { rule: Rule::NothingUnasked, at: None, detail });
    }
}

/// Collects what contradicts the promises of one key.
struct Report<'v> {
    at: ScopedKey,
    violations: &'v mut Vec<Violation>,
}

impl Report<'_> {
    fn add(&mut self, rule: Rule, detail: impl Into<String>) {
        self.violations.push(Violation { rule, at: Some(self.at), detail: detail.into() });
    }
}

/// The part of a history that concerns one key, for a person to read.
#[must_use]
pub fn excerpt(history: &History, at: ScopedKey) -> String {
    let attempts = history.attempts.iter().filter(|attempt| attempt.operation.at == at);
    let mut lines: Vec<_> = attempts.map(|attempt| (attempt.began, attempt.to_string())).collect();
    let expiries = history.expiries.iter().filter(|expiry| expiry.at == at);
    lines.extend(expiries.map(|expiry| (expiry.began, expiry.to_string())));
    let faults = history.faults.iter().filter(|fault| {
        let mut attempts = history.attempts.iter().filter(|attempt| attempt.operation.at == at);
        attempts.any(|attempt| {
            let is_of_its_process = attempt.process == fault.process;
            is_of_its_process && fault.began <= attempt.ended && attempt.began <= fault.ended
        })
    });
    lines.extend(faults.map(|fault| (fault.began, fault.to_string())));
    lines.sort();

    let mut text: Vec<_> = lines.into_iter().map(|(_, line)| line).collect();
    let effects = history.effects.iter().filter(|effect| effect.of.at == at);
    text.extend(effects.map(|effect| format!("in the end: {effect:?}")));
    let records = history.records.iter().filter(|record| record.row == at.row());
    text.extend(records.map(|record| {
        let answer = record.answer.as_ref().map(|(status, body)| (status, String::from_utf8_lossy(body)));
        format!("in the end: a record, live: {}, {answer:?}", record.is_live)
    }));
    text.join("\n")
}
