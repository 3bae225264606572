use std::error::Error;
use std::fmt;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use idem_runtime::DoNotRecord;
use serde_json::json;

use super::calls::CallError;

/// Why a handler did not take an order. All of it rolls back.
#[derive(Debug)]
#[non_exhaustive]
pub(super) enum OrderError {
    /// The provider has decided against the payment: 402. A decision, so it is stored and a retry gets it again.
    Declined(String),
    /// The provider has not decided: 503, not stored. The retry calls again, with the same key.
    NotDecided(CallError),
    /// An earlier run with this key, rolled back since, asked the provider for another payment: 422. Not stored: it would
    /// take the key from the request that the payment belongs to, whose retry still finds it.
    OtherPayment,
    /// The run has no key, as when the engine is switched off, and a call without one could charge twice: 500.
    NoKey,
    /// There is no such order: 404.
    NotFound,
    /// The database failed: 500, not stored.
    Database(sqlx::Error),
}

impl From<CallError> for OrderError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::KeyReused => Self::OtherPayment,
            CallError::Failed(_) => Self::NotDecided(error),
        }
    }
}

impl From<sqlx::Error> for OrderError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declined(reason) => write!(f, "declined: {reason}"),
            Self::NotDecided(error) => error.fmt(f),
            Self::OtherPayment => f.write_str("the key was used for another payment"),
            Self::NoKey => f.write_str("no call without a key"),
            Self::NotFound => f.write_str("no such order"),
            Self::Database(error) => write!(f, "the database failed: {error}"),
        }
    }
}

impl Error for OrderError {
    /// Shows the driver's error, so that the library can tell a transient one.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            _ => None,
        }
    }
}

impl IntoResponse for OrderError {
    fn into_response(self) -> Response {
        if let Self::NotDecided(_) | Self::Database(_) | Self::NoKey = self {
            eprintln!("{self}");
        }
        let body = |error: &str| Json(json!({ "error": error }));
        match self {
            Self::Declined(reason) => (StatusCode::PAYMENT_REQUIRED, body(&reason)).into_response(),
            Self::NotDecided(_) => {
                let later = [(header::RETRY_AFTER, "1")];
                (StatusCode::SERVICE_UNAVAILABLE, later, body("payment_not_decided")).into_response()
            }
            Self::OtherPayment => {
                (StatusCode::UNPROCESSABLE_ENTITY, DoNotRecord, body("other_payment")).into_response()
            }
            Self::NoKey => (StatusCode::INTERNAL_SERVER_ERROR, body("no_key")).into_response(),
            Self::NotFound => (StatusCode::NOT_FOUND, body("not_found")).into_response(),
            Self::Database(_) => (StatusCode::INTERNAL_SERVER_ERROR, body("database")).into_response(),
        }
    }
}
