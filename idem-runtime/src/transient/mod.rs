//! Errors that may have passed by the next attempt: an answer that reports one is not stored.

#[cfg(feature = "axum")]
mod look;

use std::error::Error;
use std::io;
use std::iter::successors;
use std::sync::Arc;

use sqlx::error::DatabaseError;

#[cfg(feature = "axum")]
pub use self::look::{Look, LookAt};
use crate::inbox::InboxError;

/// An error that knows whether it may have passed by the next attempt.
///
/// Implement it for the error type of a handler that cannot be looked into with [`is_transient`], because it
/// is not a [`std::error::Error`] or because its failures are not those of a database. The implementation has
/// the last word: for a type that has both traits, this one is asked.
///
/// # Examples
/// ```
/// use idem_runtime::Transient;
///
/// struct AppError {
///     warehouse_is_down: bool,
/// }
///
/// impl Transient for AppError {
///     fn is_transient(&self) -> bool {
///         self.warehouse_is_down
///     }
/// }
/// ```
pub trait Transient {
    /// Whether the same request may succeed if it is sent again unchanged.
    fn is_transient(&self) -> bool;
}

/// What a status says, the rules for storing answers know already.
impl Transient for http::StatusCode {
    fn is_transient(&self) -> bool {
        false
    }
}

/// As for the status alone.
impl<T> Transient for (http::StatusCode, T) {
    fn is_transient(&self) -> bool {
        false
    }
}

/// As for its status alone.
impl<B> Transient for http::Response<B> {
    fn is_transient(&self) -> bool {
        false
    }
}

/// There is none.
impl Transient for std::convert::Infallible {
    fn is_transient(&self) -> bool {
        match *self {}
    }
}

/// How many links of a chain of sources are looked at: more than any real one has, for an error may be, by
/// mistake, its own source.
const MAX_DEPTH: usize = 64;

/// Whether an error, or one of its sources, is a failure of the database that may pass by itself.
///
/// That is a serialization failure or deadlock, a lock not to be had, a server that ended the session or is
/// starting or stopping, and a lost connection:
/// - SQLSTATE 40001, 40P01, 55P03, 57P01 to 57P05, 25P03, 25P04 and class 08 (PostgreSQL manual, appendix A);
/// - SQLite's `SQLITE_BUSY` and `SQLITE_LOCKED` in all their variants, with the feature `sqlite`
///   (sqlite.org/rescode.html);
/// - of [`sqlx::Error`]: `Io`, `PoolTimedOut`, `PoolClosed`, `WorkerCrashed`;
/// - an [`io::Error`] of a kind that means a lost or refused connection, since a transparent wrapper of
///   [`sqlx::Error`] shows nothing else;
/// - [`InboxError::InProgress`], a message that another transaction held for too long.
///
/// For an `IntoResponse` that has such an error at hand but does not show it as its source, and so puts
/// [`DoNotRecord`](crate::DoNotRecord) on the answer itself.
///
/// # Examples
/// ```
/// use idem_runtime::is_transient;
///
/// assert!(is_transient(&sqlx::Error::PoolTimedOut));
/// assert!(!is_transient(&sqlx::Error::RowNotFound));
/// ```
#[must_use]
pub fn is_transient(error: &(dyn Error + 'static)) -> bool {
    successors(Some(error), |error| source(*error)).take(MAX_DEPTH).find_map(judge).unwrap_or(false)
}

/// The next error to look at. An `io::Error` made from another error is not its parent but hides it.
fn source<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(hidden) => Some(hidden),
        None => error.source(),
    }
}

/// What one error says by itself; `None` if its sources are to be asked.
fn judge(error: &(dyn Error + 'static)) -> Option<bool> {
    // Boxed because it is large, or shared because it is not `Clone`, it is still the error itself.
    let sqlx_error = error
        .downcast_ref::<sqlx::Error>()
        .or_else(|| error.downcast_ref::<Box<sqlx::Error>>().map(AsRef::as_ref))
        .or_else(|| error.downcast_ref::<Arc<sqlx::Error>>().map(AsRef::as_ref));
    if let Some(sqlx_error) = sqlx_error {
        return judge_sqlx(sqlx_error);
    }
    if let Some(database_error) = error.downcast_ref::<Box<dyn DatabaseError>>() {
        return Some(judge_database(database_error.as_ref()));
    }
    #[cfg(feature = "postgres")]
    if let Some(database_error) = error.downcast_ref::<sqlx::postgres::PgDatabaseError>() {
        return Some(judge_database(database_error));
    }
    #[cfg(feature = "sqlite")]
    if let Some(database_error) = error.downcast_ref::<sqlx::sqlite::SqliteError>() {
        return Some(judge_database(database_error));
    }
    if let Some(InboxError::InProgress) = error.downcast_ref() {
        return Some(true);
    }
    error.downcast_ref::<io::Error>().filter(|error| is_connection_loss(error.kind())).map(|_| true)
}

fn judge_sqlx(error: &sqlx::Error) -> Option<bool> {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => Some(true),
        sqlx::Error::Database(error) => Some(judge_database(error.as_ref())),
        // About a value: an `io::Error` below it, such as an end of input, is no lost connection.
        sqlx::Error::Encode(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => Some(false),
        _ => None,
    }
}

fn judge_database(error: &dyn DatabaseError) -> bool {
    #[cfg(feature = "sqlite")]
    if let Some(error) = error.try_downcast_ref::<sqlx::sqlite::SqliteError>() {
        return error.code().is_some_and(|code| is_busy_sqlite(&code));
    }
    error.code().is_some_and(|code| is_transient_sqlstate(&code))
}

/// Whether this is an SQLSTATE of a failure that may pass.
///
/// SQLite's driver gives a result code in its place, a decimal number without leading zeros and, in all codes
/// that exist, of at most four digits, so it equals none of these.
fn is_transient_sqlstate(code: &str) -> bool {
    matches!(
        code,
        "40001" | "40P01" | "55P03" | "25P03" | "25P04" | "57P01" | "57P02" | "57P03" | "57P04" | "57P05"
    ) || (code.len() == 5 && code.starts_with("08"))
}

/// Whether this is `SQLITE_BUSY` (5) or `SQLITE_LOCKED` (6), in the low byte of an extended result code.
#[cfg(feature = "sqlite")]
fn is_busy_sqlite(code: &str) -> bool {
    code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6))
}

fn is_connection_loss(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NotConnected
            | io::ErrorKind::TimedOut
            | io::ErrorKind::UnexpectedEof
    )
}

#[cfg(test)]
mod tests;
