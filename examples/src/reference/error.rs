use std::error::Error;
use std::fmt;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a handler of the reference application failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum AppError {
    /// The operation is refused for a reason of the application's own: 422.
    Refused(&'static str),
    /// Another order of the tenant has the same number: 409.
    OrderNumberTaken,
    /// There is no such thing: 404.
    NotFound,
    /// The database failed: 500.
    Database(sqlx::Error),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(reason) => write!(f, "refused: {reason}"),
            Self::OrderNumberTaken => f.write_str("the order number is taken"),
            Self::NotFound => f.write_str("not found"),
            Self::Database(_) => f.write_str("the database failed"),
        }
    }
}

impl Error for AppError {
    /// Shows the driver's error, so that the library can tell a transient one.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Database(error) => Some(error),
            Self::Refused(_) | Self::OrderNumberTaken | Self::NotFound => None,
        }
    }
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            Self::Refused(reason) => (StatusCode::UNPROCESSABLE_ENTITY, reason),
            Self::OrderNumberTaken => (StatusCode::CONFLICT, "order_no_taken"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Self::Database(_) => (StatusCode::INTERNAL_SERVER_ERROR, "database"),
        };
        (status, Json(json!({ "error": error }))).into_response()
    }
}
