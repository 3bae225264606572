//! The wording of each problem, and what it tells a client to do.

use std::borrow::Cow;

use http::StatusCode;

use super::{Problem, Terms};

/// What tells one kind of problem from another in its body.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) title: Cow<'static, str>,
    pub(super) detail: Cow<'static, str>,
    pub(super) retry: Retry,
}

/// What a client should do, as the member `retry` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// Wait, and send the same request again: `same_key`, with a delay.
    Later,
    /// Send the same request again: `same_key`, without a delay.
    SameKey,
    FixRequest,
    NewKey,
    Never,
}

impl Kind {
    /// The end of `type`: what follows `idempotency_` in the code, as words of a URI.
    pub(super) fn slug(&self) -> String {
        self.code.trim_start_matches("idempotency_").replace('_', "-")
    }
}

impl Retry {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Later | Self::SameKey => "same_key",
            Self::FixRequest => "fix_request",
            Self::NewKey => "new_key",
            Self::Never => "never",
        }
    }
}

impl Problem {
    /// The parts of this problem, on these terms.
    #[expect(clippy::too_many_lines, reason = "one arm for each problem, all alike")]
    pub(super) fn kind(self, terms: &Terms) -> Kind {
        let key = &terms.key;
        match self {
            Self::KeyMissing => Kind {
                status: StatusCode::BAD_REQUEST,
                code: "idempotency_key_missing",
                title: Cow::Owned(format!("{} is missing", key.subject())),
                detail: Cow::Owned(key.is_required()),
                retry: Retry::FixRequest,
            },
            Self::KeyInvalid(_) => Kind {
                status: StatusCode::BAD_REQUEST,
                code: "idempotency_key_invalid",
                title: Cow::Owned(format!("{} is not valid", key.subject())),
                detail: Cow::Owned(key.must_be()),
                retry: Retry::FixRequest,
            },
            Self::InProgress => Kind {
                status: terms.in_progress,
                code: "idempotency_in_progress",
                title: Cow::Owned(format!("A request with this {} is in progress", key.noun())),
                detail: Cow::Owned(format!(
                    "The first request with this {} has not finished. Send the same request again later.",
                    key.noun()
                )),
                retry: Retry::Later,
            },
            Self::KeyReused => Kind {
                status: terms.mismatch,
                code: "idempotency_key_reused",
                title: Cow::Owned(format!("{} is already used", key.subject())),
                detail: Cow::Owned(format!(
                    "This {} was first used with a different request. Use a new key for a different request.",
                    key.noun()
                )),
                // Clients that retry every 409 find here that this one is final.
                retry: if terms.mismatch == StatusCode::CONFLICT { Retry::Never } else { Retry::NewKey },
            },
            Self::NeedsReconciliation => Kind {
                status: StatusCode::CONFLICT,
                code: "idempotency_needs_reconciliation",
                title: Cow::Borrowed("The outcome of this operation must be checked"),
                detail: Cow::Borrowed(
                    "An earlier attempt did not finish and is too old to be run again automatically.",
                ),
                retry: Retry::Never,
            },
            Self::StoreUnavailable => Kind {
                status: StatusCode::SERVICE_UNAVAILABLE,
                code: "idempotency_store_unavailable",
                title: Cow::Borrowed("The operation could not be started"),
                detail: Cow::Borrowed("The request was not run. Send the same request again later."),
                retry: Retry::Later,
            },
            Self::Transient => Kind {
                status: StatusCode::SERVICE_UNAVAILABLE,
                code: "idempotency_transient",
                title: Cow::Borrowed("The operation was rolled back"),
                detail: Cow::Borrowed("The request had no effect. Send the same request again later."),
                retry: Retry::Later,
            },
            Self::OutcomeUnknown => Kind {
                status: StatusCode::SERVICE_UNAVAILABLE,
                code: "idempotency_outcome_unknown",
                title: Cow::Borrowed("The outcome of the operation is unknown"),
                detail: Cow::Owned(format!(
                    "The request may have taken effect. Send the same request again with the same {} to learn \
                     the outcome.",
                    key.noun()
                )),
                retry: Retry::Later,
            },
            Self::ScopeUnresolved => Kind {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: "idempotency_scope_unresolved",
                title: Cow::Borrowed("The request cannot be protected"),
                detail: Cow::Borrowed("The request was not run."),
                retry: Retry::Never,
            },
            Self::FingerprintFailed => Kind {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: "idempotency_fingerprint_failed",
                title: Cow::Borrowed("The request cannot be compared"),
                detail: Cow::Borrowed("The request was not run."),
                retry: Retry::Never,
            },
            Self::ResponseNotStorable => Kind {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: "idempotency_response_not_storable",
                title: Cow::Borrowed("The response cannot be stored"),
                detail: Cow::Borrowed("The operation was rolled back."),
                retry: Retry::Never,
            },
            Self::CommitRejected => Kind {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: "idempotency_commit_rejected",
                title: Cow::Borrowed("The operation was rolled back"),
                detail: Cow::Borrowed("The operation did not complete and had no effect."),
                retry: Retry::SameKey,
            },
            Self::StoreMisconfigured => Kind {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: "idempotency_store_misconfigured",
                title: Cow::Borrowed("The operation could not be started"),
                detail: Cow::Borrowed("The request was not run."),
                retry: Retry::Never,
            },
        }
    }
}
