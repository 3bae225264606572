//! Histories made by hand, line by line, for the tests of the checker.

use std::time::Duration;

use super::super::operation::{Endpoint, Operation, ScopedKey};
use super::super::record::{Attempt, Effect, Expiry, Fault, FaultKind, History, Outcome, Record};
use super::{Rule, check};
use crate::http::Answer;

/// The key that most of them are about.
pub(super) const AT: ScopedKey = ScopedKey { tenant: 1, endpoint: Endpoint::Orders, key: 7 };

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(super) fn answer(status: u16, fields: &[(&str, &str)], body: &str) -> Answer {
    let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
    Answer::made(status, fields.collect(), body.as_bytes())
}

/// The first answer to an order.
pub(super) fn created(operation: Operation, id: i64) -> Answer {
    let body = format!(r#"{{"id":{id},"item":"{operation}","qty":{}}}"#, operation.variant);
    answer(201, &[("location", &format!("/orders/{id}"))], &body)
}

/// The same answer once more.
pub(super) fn again(mut first: Answer) -> Answer {
    first.fields.push(("idempotent-replayed".to_owned(), b"true".to_vec()));
    first
}

/// A library error, word for word.
fn problem(slug: &str, title: &str, status: u16, detail: &str, retry: &str) -> Answer {
    let code = slug.replace('-', "_");
    let after = if retry == "same_key" { r#","retry_after":1"# } else { "" };
    let body = format!(
        r#"{{"type":"https://idempotency.example/problems/{slug}","title":"{title}","status":{status},"detail":"{detail}","code":"idempotency_{code}","retry":"{retry}"{after}}}"#
    );
    let mut problem =
        answer(status, &[("content-type", "application/problem+json"), ("cache-control", "no-store")], &body);
    if retry == "same_key" {
        problem.fields.push(("retry-after".to_owned(), b"1".to_vec()));
    }
    problem
}

pub(super) fn in_progress() -> Answer {
    problem(
        "in-progress",
        "A request with this Idempotency-Key is in progress",
        409,
        "The first request with this Idempotency-Key has not finished. Send the same request again later.",
        "same_key",
    )
}

pub(super) fn reused() -> Answer {
    problem(
        "key-reused",
        "Idempotency-Key is already used",
        422,
        "This Idempotency-Key was first used with a different request. Use a new key for a different request.",
        "new_key",
    )
}

pub(super) fn transient() -> Answer {
    problem(
        "transient",
        "The operation was rolled back",
        503,
        "The request had no effect. Send the same request again later.",
        "same_key",
    )
}

/// Builds a history line by line.
#[derive(Default)]
pub(super) struct Made(pub(super) History);

impl Made {
    pub(super) fn attempt(mut self, span: (u64, u64), operation: Operation, outcome: Outcome) -> Self {
        let (began, ended) = (ms(span.0), ms(span.1));
        self.0.attempts.push(Attempt { operation, process: 0, began, ended, outcome });
        self
    }

    pub(super) fn answered(self, span: (u64, u64), operation: Operation, answer: Answer) -> Self {
        self.attempt(span, operation, Outcome::Answered(answer))
    }

    pub(super) fn effect(mut self, of: Operation, number: i64) -> Self {
        self.0.effects.push(Effect { of, tenant: of.at.tenant_name(), number });
        self
    }

    pub(super) fn record(mut self, at: ScopedKey, answer: &Answer) -> Self {
        let stored = Some((i64::from(answer.status), answer.body.clone()));
        self.0.records.push(Record { row: at.row(), is_live: true, answer: stored });
        self
    }

    /// The same where there was one before.
    pub(super) fn record_replaced(mut self, answer: &Answer) -> Self {
        self.0.records.clear();
        self.record(AT, answer)
    }

    /// The row expires, and all effects so far belong to the time before.
    pub(super) fn expiry(mut self, span: (u64, u64)) -> Self {
        let effects = self.0.effects.clone();
        self.0.expiries.push(Expiry { at: AT, began: ms(span.0), ended: ms(span.1), effects });
        self
    }

    pub(super) fn fault(mut self, span: (u64, u64), kind: FaultKind) -> Self {
        self.0.faults.push(Fault { kind, process: 0, began: ms(span.0), ended: ms(span.1) });
        self
    }

    /// Asserts that exactly these promises are broken.
    #[track_caller]
    pub(super) fn breaks(self, expected: &[Rule]) {
        let violations = check(&self.0);
        let mut rules: Vec<_> = violations.iter().map(|violation| violation.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(rules, expected, "{violations:?}");
    }
}
