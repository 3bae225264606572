//! What becomes of the transaction and the key row when a handler has returned.

mod markers;

use http::{StatusCode, header, response};

use markers::Marks;
pub use markers::{DoNotRecord, KeepWrites, Record};

/// Which answers of a handler are stored and replayed: the attribute's option `record`.
///
/// Under every rule: an answer below 400 is stored together with the handler's writes. An answer of 400 and
/// above, or an `Err`, rolls them back. Answers that say "not now" (408, 425, 429, 502, 503, 504, and a 4xx
/// or 5xx with `Retry-After`) and an `Err` known to be [`Transient`](crate::Transient) are never stored, so
/// that a retry runs. The markers [`Record`], [`DoNotRecord`] and [`KeepWrites`] decide for a single answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RecordRule {
    /// What the handler decided, a 500 that it returned as an answer included. Left out are an `Err` that
    /// answers 5xx, which is how failures of the infrastructure leave a handler; on PostgreSQL any 5xx after a
    /// statement has failed, since `impl IntoResponse` hides the `Err`; and 401 and 403, which speak of the
    /// caller and not of the operation. The default.
    #[default]
    Decided,
    /// Also 401, 403, and an `Err` that answers 5xx, unless, on PostgreSQL, a statement had failed in the
    /// transaction.
    All,
    /// Only answers below 400 that are not an `Err`.
    Success,
}

/// What a look at a handler's value shows.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not a `Result`.
    Plain,
    /// `Ok`.
    Ok,
    /// `Err`, looked into: nothing in it is transient.
    Looked,
    /// `Err` of something that may have passed by the next attempt.
    Transient,
    /// `Err` of a type that cannot be looked into.
    Unknown,
}

impl Verdict {
    pub(crate) fn is_err(self) -> bool {
        matches!(self, Self::Looked | Self::Transient | Self::Unknown)
    }
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Store the answer in the handler's transaction, and commit both.
    CommitAndRecord,
    /// Roll back, then store the answer by itself.
    RollBackAndRecord,
    /// As [`RollBackAndRecord`](Self::RollBackAndRecord), unless a statement of the transaction had failed,
    /// where the database tells: then the answer speaks of it, and is sent without being stored.
    ProbeThenRecord,
    /// Roll back and send the answer; nothing is stored, a retry runs.
    RollBackAndSend,
    /// Roll back and answer that the response cannot be stored: what was asked for contradicts itself.
    Refuse,
}

/// How an attempt with this outcome ends.
pub(crate) fn plan(verdict: Verdict, answer: &response::Parts, rule: RecordRule) -> Plan {
    let marks = Marks::of(&answer.extensions);
    let is_error = answer.status.as_u16() >= 400;
    let is_server_error = answer.status.as_u16() >= 500;

    // The end of the exchange is still to come (RFC 9110, section 15.2); an upgrade has none to be stored.
    if answer.status.is_informational() {
        return Plan::Refuse;
    }
    if marks.do_not_record {
        // Whoever is told of a success must find it done, and find it again.
        return if is_error && !marks.lift() { Plan::RollBackAndSend } else { Plan::Refuse };
    }
    if verdict == Verdict::Transient || says_not_now(answer) {
        // A retry is invited: a stored answer would meet it for as long as the key lives.
        return if marks.lift() { Plan::Refuse } else { Plan::RollBackAndSend };
    }
    if marks.keep_writes || !(verdict.is_err() || is_error) {
        return Plan::CommitAndRecord;
    }
    if marks.record {
        return Plan::RollBackAndRecord;
    }

    let is_failure = verdict.is_err() && is_server_error;
    match rule {
        RecordRule::Success => Plan::RollBackAndSend,
        RecordRule::Decided if is_failure || speaks_of_the_caller(answer.status) => Plan::RollBackAndSend,
        // Whether the handler decided it or passes on the database's failure, only the database can tell.
        RecordRule::Decided | RecordRule::All if is_server_error => Plan::ProbeThenRecord,
        RecordRule::Decided | RecordRule::All => Plan::RollBackAndRecord,
    }
}

/// Takes off an answer what speaks of this run only: its markers, which must not reach a handler that called this one.
pub(crate) fn strip(answer: &mut response::Parts) {
    Marks::remove(&mut answer.extensions);
}

/// Whether a run that has no key, and so nothing to store, commits; it rolls back otherwise.
pub(crate) fn commits_without_key(verdict: Verdict, answer: &response::Parts) -> bool {
    Marks::of(&answer.extensions).keep_writes || !(verdict.is_err() || answer.status.as_u16() >= 400)
}

fn says_not_now(answer: &response::Parts) -> bool {
    match answer.status {
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => true,
        // On a 202 or a redirect it says when to look for the result, which holds for a replay too.
        status => status.as_u16() >= 400 && answer.headers.contains_key(header::RETRY_AFTER),
    }
}

fn speaks_of_the_caller(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

#[cfg(test)]
mod tests;
