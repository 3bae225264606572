//! The wording of each problem, and what it tells a client to do.

use http::StatusCode;

use super::Problem;

/// What tells one kind of problem from another in its body.
pub(super) struct Kind {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) title: &'static str,
    pub(super) detail: &'static str,
    pub(super) retry: Retry,
}

/// What a client should do, as the member `retry` tells it.
#[derive(Clone, Copy, PartialEq, Eq)]
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
    /// The fixed parts of this problem.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::KeyMissing => Kind {
                status: StatusCode::BAD_REQUEST,
                code: "idempotency_key_missing",
                title: "Idempotency-Key is missing",
                detail: "This operation requires an Idempotency-Key header.",
                retry: Retry::FixRequest,
            },
            Self::KeyInvalid(_) => Kind {
                status: StatusCode::BAD_REQUEST,
                code: "idempotency_key_invalid",
                title: "Idempotency-Key is not valid",
                detail: "The Idempotency-Key header must be one string of 1 to 255 printable ASCII \
                         characters.",
                retry: Retry::FixRequest,
            },
            Self::InProgress => Kind {
                status: StatusCode::CONFLICT,
                code: "idempotency_in_progress",
                title: "A request with this Idempotency-Key is in progress",
                detail: "The first request with this Idempotency-Key has not finished. Send the same request \
                         again later.",
                retry: Retry::Later,
            },
            Self::KeyReused => Kind {
                status: StatusCode::UNPROCESSABLE_ENTITY,
                code: "idempotency_key_reused",
                title: "Idempotency-Key is already used",
                detail: "This Idempotency-Key was first used with a different request. Use a new key for a \
                         different request.",
                retry: Retry::NewKey,
            },
            Self::NeedsReconciliation => Kind {
                status: StatusCode::CONFLICT,
                code: "idempotency_needs_reconciliation",
                title: "The outcome of this operation must be checked",
                detail: "An earlier attempt did not finish and is too old to be run again automatically.",
                retry: Retry::Never,
            },
            Self::StoreUnavailable => Kind {
                status: StatusCode::SERVICE_UNAVAILABLE,
                code: "idempotency_store_unavailable",
                title: "The operation could not be started",
                detail: "The request was not run. Send the same request again later.",
                retry: Retry::Later,
            },
            Self::Transient => Kind {
                status: StatusCode::SERVICE_UNAVAILABLE,
                code: "idempotency_transient",
                title: "The operation was rolled back",
                detail: "The request had no effect. Send the same request again later.",
                retry: Retry::Later,
            },
            Self::OutcomeUnknown => Kind {
                status: StatusCode::SERVICE_UNAVAILABLE,
                code: "idempotency_outcome_unknown",
                title: "The outcome of the operation is unknown",
                detail: "The request may have taken effect. Send the same request again with the same \
                         Idempotency-Key to learn the outcome.",
                retry: Retry::Later,
            },
            Self::ScopeUnresolved => Kind {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: "idempotency_scope_unresolved",
                title: "The request cannot be protected",
                detail: "The request was not run.",
                retry: Retry::Never,
            },
            Self::FingerprintFailed => Kind {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: "idempotency_fingerprint_failed",
                title: "The request cannot be compared",
                detail: "The request was not run.",
                retry: Retry::Never,
            },
            Self::ResponseNotStorable => Kind {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: "idempotency_response_not_storable",
                title: "The response cannot be stored",
                detail: "The operation was rolled back.",
                retry: Retry::Never,
            },
            Self::CommitRejected => Kind {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: "idempotency_commit_rejected",
                title: "The operation was rolled back",
                detail: "The operation did not complete and had no effect.",
                retry: Retry::SameKey,
            },
            Self::StoreMisconfigured => Kind {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: "idempotency_store_misconfigured",
                title: "The operation could not be started",
                detail: "The request was not run.",
                retry: Retry::Never,
            },
        }
    }
}
