//! Why a message was not processed.

use std::error::Error as StdError;
use std::fmt;

use crate::error::Error;
use crate::scope::ScopeError;
use crate::store::Cause;

/// Why a message was not processed, or is not known to have been.
///
/// Whatever it is, the message must not be acknowledged: it comes again, and a message that was processed after all is a
/// [`Duplicate`](crate::Claim::Duplicate) then. One that [will never do](Self::is_permanent) is put aside.
///
/// Its text says nothing of the message: ids may be personal data, and errors end up in logs. The source of
/// [`Store`](Self::Store) is the database's own error, which may quote a row in its message and, where it is shown by
/// `Debug`, in its detail.
#[derive(Debug)]
#[non_exhaustive]
pub enum InboxError {
    /// The message has no id, or one that is empty or blank. All such messages would be one, so none is processed. Have
    /// the sender set one; or make one of what identifies the message, its partition and offset say.
    MessageIdMissing,
    /// The id is longer than [`Inbox::MAX_ID_LEN`](crate::Inbox::MAX_ID_LEN). Take a digest of it.
    MessageIdTooLong,
    /// The id holds a NUL, which a database's text cannot. Encode it.
    MessageIdNul,
    /// The consumer's name or the source is empty or holds a NUL. Name both.
    Scope(ScopeError),
    /// The connection is in no transaction, by sqlx's count: the claim would be committed by itself, and a message whose
    /// work fails would be lost. Begin one with `begin` or `begin_with`; sqlx does not see a `BEGIN` that is sent as a
    /// statement. On SQLite also if the database has ended the transaction by itself, on a full disk or by a conflict
    /// clause (`OR ROLLBACK`), and the error was not passed on.
    NoTransaction,
    /// Another transaction has held the message for as long as a claim waits ([`Inbox::wait`](crate::Inbox::wait)), and
    /// it is not known how that ends. The transaction is of no use any more: roll it back. It
    /// [may pass](crate::is_transient).
    InProgress,
    /// The message's row is that of another message, or of an idempotency key. Two ids are the same in their first 16
    /// bytes of SHA-256, which does not happen by chance; look at the row in the table.
    Collision,
    /// A statement has failed in the transaction before, and its error was not passed on. PostgreSQL refuses what comes
    /// after, and answers COMMIT with a rollback: nothing was kept. Pass the error on, or have what may fail in a
    /// savepoint (`begin` on the transaction).
    Aborted,
    /// The transaction is nested in another, or has one inside that was never ended: COMMIT would keep nothing. It was
    /// rolled back to the outermost. End what was begun, and commit the outermost.
    Nested,
    /// The transaction in which the message was claimed is over: it was ended by a raw `COMMIT` or `ROLLBACK`, or the
    /// database ended it. Or nothing was claimed in it, which is noticed on PostgreSQL only. What was written may be kept or not, whole or in part; take the
    /// statement out, and look.
    TransactionEnded,
    /// The table is missing or not such that the guarantees hold. The text says what to change.
    Misconfigured(String),
    /// The database refused, could not be reached, or did not reply. The source says why; one that
    /// [may pass](crate::is_transient) is worth another try at once. Without a reply to COMMIT nobody knows whether the
    /// message was processed; its redelivery finds out.
    Store(sqlx::Error),
}

impl InboxError {
    /// Whether the message is refused however often it is delivered: it has no id, or an id or a source that cannot be
    /// kept, or its row is something else's. Put it aside, into a dead-letter queue say; redelivering it helps nobody.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        matches!(
            self,
            Self::MessageIdMissing
                | Self::MessageIdTooLong
                | Self::MessageIdNul
                | Self::Scope(_)
                | Self::Collision
        )
    }
}

impl fmt::Display for InboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MessageIdMissing => "the message has no id",
            Self::MessageIdTooLong => "the message's id is too long",
            Self::MessageIdNul => "the message's id holds a NUL",
            Self::Scope(_) => "the consumer or the source of the message cannot be kept",
            Self::NoTransaction => {
                "a message can only be claimed in a transaction that was begun through sqlx"
            }
            Self::InProgress => "another transaction has held the message for too long",
            Self::Collision => "the row of the message belongs to something else",
            Self::Aborted => "a statement had failed in the message's transaction, so nothing was kept",
            Self::Nested => "the message's transaction is not the outermost",
            Self::TransactionEnded => "the transaction in which the message was claimed is over",
            Self::Misconfigured(what) => what,
            Self::Store(_) => "the database refused or could not be reached",
        })
    }
}

impl StdError for InboxError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Scope(source) => Some(source),
            Self::Store(source) => Some(source),
            _ => None,
        }
    }
}

/// What a statement reports, the work's own included. One that is refused because another has failed before is
/// [`Aborted`](InboxError::Aborted).
impl From<sqlx::Error> for InboxError {
    fn from(error: sqlx::Error) -> Self {
        if Cause::is_aborted(&error) { Self::Aborted } else { Self::Store(error) }
    }
}

impl From<Error> for InboxError {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error.into(),
            Error::Misconfigured(what) => Self::Misconfigured(what),
            Error::ReadOnly => Self::Store(sqlx::Error::Protocol(error.to_string())),
        }
    }
}

impl From<ScopeError> for InboxError {
    fn from(error: ScopeError) -> Self {
        Self::Scope(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_will_never_do_is_told_from_one_that_may() {
        let scope = ScopeError::Empty { label: "source".to_owned() };
        for error in [
            InboxError::MessageIdMissing,
            InboxError::MessageIdTooLong,
            InboxError::MessageIdNul,
            InboxError::Scope(scope),
            InboxError::Collision,
        ] {
            assert!(error.is_permanent(), "{error}");
        }
        for error in [
            InboxError::NoTransaction,
            InboxError::InProgress,
            InboxError::Aborted,
            InboxError::Nested,
            InboxError::TransactionEnded,
            InboxError::Misconfigured(String::new()),
            sqlx::Error::PoolTimedOut.into(),
        ] {
            assert!(!error.is_permanent(), "{error}");
        }
    }

    #[test]
    fn an_error_that_has_a_cause_shows_it() {
        let error = InboxError::from(Error::Store(sqlx::Error::WorkerCrashed));

        assert!(matches!(&error, InboxError::Store(sqlx::Error::WorkerCrashed)), "{error:?}");
        assert!(error.source().and_then(|source| source.downcast_ref::<sqlx::Error>()).is_some());
        assert!(InboxError::from(ScopeError::NotAlone).source().is_some());
    }
}
