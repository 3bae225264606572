//! A row as it is read.

use crate::fingerprint::{Digest, FORMAT_VERSION};
use crate::replay::StoredResponse;

/// A live row, as another request left it.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub enum Found {
    /// An answer is stored.
    Completed(Box<KeyRow>),
    /// A row without an answer: the handler ended its transaction itself.
    Broken(Box<KeyRow>),
    /// A message that was consumed: complete, and without an answer.
    Message(Box<KeyRow>),
    /// The row belongs to another scope and key with the same id.
    Collision,
}

/// A key row, as [`Idempotency::find`](crate::Idempotency::find) shows it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KeyRow {
    /// The digest of the request that reserved the key.
    pub(crate) fingerprint: Vec<u8>,
    /// The version of the rules under which the digest was taken.
    pub(crate) fingerprint_version: i16,
    /// The stored answer. `None` if the row is that of a message, which has none, or if the handler ended its
    /// transaction by itself and left the row without one: see [`is_broken`](Self::is_broken).
    pub response: Option<StoredResponse>,
    /// When the key was reserved, or the message claimed, in microseconds since 1970-01-01 UTC, by the database's clock.
    pub created_at_micros: i64,
    /// When the answer was stored, or the message claimed, in microseconds since 1970-01-01 UTC, by the database's clock;
    /// `None` if nothing was completed.
    pub completed_at_micros: Option<i64>,
    /// When the row stops counting, in microseconds since 1970-01-01 UTC, by the database's clock.
    pub expires_at_micros: i64,
}

impl Found {
    /// A row of this scope and key, by what it holds.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) fn of(row: KeyRow) -> Self {
        let kind = match (&row.response, row.completed_at_micros) {
            (Some(_), _) => Self::Completed,
            (None, Some(_)) => Self::Message,
            (None, None) => Self::Broken,
        };
        kind(Box::new(row))
    }
}

impl KeyRow {
    /// Whether the handler ended its transaction by itself, so that what it wrote may stay and every retry is answered
    /// 409 `idempotency_needs_reconciliation`. A person has to look; then
    /// [`Idempotency::forget`](crate::Idempotency::forget) frees the key.
    ///
    /// Never of a message that an [`Inbox`](crate::Inbox) has claimed: its row has no answer either, but is complete.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.response.is_none() && self.completed_at_micros.is_none()
    }

    /// Whether this row was left by a request with this fingerprint. A digest of another version proves nothing,
    /// so it is refused rather than replayed.
    pub(crate) fn is_of(&self, fingerprint: &Digest) -> bool {
        let stored = <[u8; 32]>::try_from(self.fingerprint.as_slice()).ok().map(Digest::from);
        stored.is_some_and(|stored| {
            (self.fingerprint_version == FORMAT_VERSION || fingerprint.is_off())
                && stored.agrees_with(fingerprint)
        })
    }
}
