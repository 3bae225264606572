//! Problems as Stripe's API words them, for its official clients and those built like them.
//!
//! Clients must test `code`: Stripe documents `idempotency_key_in_use` but not the `type` beside it.

use super::Problem;
use super::json::Object;
use super::kind::{Kind, Retry};
use crate::key::IdempotencyKey;

/// The body: one object `error`, with `type`, `message` and, but for a mismatch, `code`.
///
/// `key` is named where Stripe names it; the client that reads it has sent it.
pub(super) fn body(problem: Problem, kind: &Kind, key: Option<&IdempotencyKey>) -> String {
    let mut error = Object::new();
    error.text("type", &[error_type(problem)]);
    if let Some(code) = code(problem, kind) {
        error.text("code", &[code]);
    }
    match (problem, key) {
        (Problem::KeyReused, Some(key)) => error.text(
            "message",
            &[
                "Keys for idempotent requests can only be used with the same parameters they were first used with. \
                 Try using a key other than '",
                key.as_str(),
                "' if you meant to execute a different request.",
            ],
        ),
        (Problem::InProgress, Some(key)) => error.text(
            "message",
            &[
                "There is currently another in-progress request using this Idempotent Key (that probably means you \
                 submitted twice, and the other request is still going through): ",
                key.as_str(),
                ". Please try again later.",
            ],
        ),
        _ => error.text("message", &[&kind.detail]),
    }
    let mut body = Object::new();
    body.object("error", error);
    body.finish()
}

fn error_type(problem: Problem) -> &'static str {
    match problem {
        Problem::KeyMissing | Problem::KeyInvalid(_) => "invalid_request_error",
        Problem::InProgress | Problem::KeyReused | Problem::NeedsReconciliation => "idempotency_error",
        Problem::StoreUnavailable
        | Problem::Transient
        | Problem::OutcomeUnknown
        | Problem::ScopeUnresolved
        | Problem::FingerprintFailed
        | Problem::ResponseNotStorable
        | Problem::CommitRejected
        | Problem::StoreMisconfigured => "api_error",
    }
}

fn code(problem: Problem, kind: &Kind) -> Option<&'static str> {
    match problem {
        Problem::KeyReused => None,
        Problem::InProgress => Some("idempotency_key_in_use"),
        _ => Some(kind.code),
    }
}

/// The value of `Stripe-Should-Retry`. Without it Stripe's clients retry 409 and every status of 500 and above; where
/// that is as good as anything, it is left to them.
pub(super) fn should_retry(retry: Retry) -> Option<&'static str> {
    match retry {
        Retry::Later => Some("true"),
        Retry::SameKey => None,
        Retry::FixRequest | Retry::NewKey | Retry::Never => Some("false"),
    }
}
