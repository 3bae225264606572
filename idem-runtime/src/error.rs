//! What can go wrong outside a request.

use std::error::Error as StdError;
use std::fmt;

use crate::store::TableNameError;

/// An error of [`Idempotency`](crate::Idempotency)'s own calls.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The database refused or could not be reached. The source says why; try again once it is there.
    Store(sqlx::Error),
    /// The table is missing or not such that the guarantees hold, or a pool for look-ups is not read-only. The text
    /// says what to change.
    Misconfigured(String),
    /// The server takes no writes: a standby, one that was demoted, or a session that is read-only by default. Connect
    /// to the primary; a pool whose connections lead to another server finds it once they are closed.
    ReadOnly,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(_) => f.write_str("the database refused or could not be reached"),
            Self::Misconfigured(what) => f.write_str(what),
            Self::ReadOnly => f.write_str("the database server takes no writes"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Store(source) => Some(source),
            Self::Misconfigured(_) | Self::ReadOnly => None,
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error)
    }
}

/// A setting that the builder refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The table's name.
    Table(TableNameError),
    /// A header that must never be replayed: credentials, or what describes one transfer only.
    ReplayHeader(http::HeaderName),
    /// The run limit is not between 1 s and 24 h.
    RunLimit,
    /// The acquire time-out is zero or longer than 24 h.
    AcquireTimeout,
    /// The largest stored body is not between 1 byte and 512 MiB.
    MaxResponse,
    /// The status of a mismatch is not 400, 409 or 422.
    Mismatch(http::StatusCode),
    /// The base of the problem types is not printable ASCII, or empty.
    ProblemBase,
    /// The header that marks a replay has another meaning.
    ReplayMarker(http::HeaderName),
    /// The URI of the documentation is empty, not printable ASCII, or holds `<`, `>` or `"`.
    Documentation,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(error) => error.fmt(f),
            Self::ReplayHeader(name) => write!(f, "the header `{name}` must not be replayed"),
            Self::RunLimit => f.write_str("the run limit must be between 1 second and 24 hours"),
            Self::AcquireTimeout => {
                f.write_str("the acquire time-out must be longer than zero and at most 24 hours")
            }
            Self::MaxResponse => f.write_str("the largest stored body must be between 1 byte and 512 MiB"),
            Self::Mismatch(status) => write!(f, "a mismatch is 400, 409 or 422, not {}", status.as_u16()),
            Self::ProblemBase => {
                f.write_str("the base of the problem types must be a URI in printable ASCII")
            }
            Self::ReplayMarker(name) => write!(f, "the header `{name}` cannot mark a replay"),
            Self::Documentation => f.write_str("the documentation must be a URI in printable ASCII"),
        }
    }
}

impl StdError for BuildError {}
