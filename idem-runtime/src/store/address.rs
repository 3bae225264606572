//! Where a row is, and whose.

use std::fmt::{self, Debug};

use super::Table;
use crate::key::IdempotencyKey;
use crate::scope::{Scope, lock_id};

/// Where the row of a key is.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Address {
    pub(crate) id: [u8; 16],
    pub(crate) lock_id: i64,
    pub(crate) scope: String,
    pub(crate) key: KeyText,
}

impl Address {
    pub(crate) fn new(table: &Table, scope: &Scope, key: impl Into<KeyText>) -> Self {
        let key = key.into();
        let id = scope.id(key.as_str());
        Self { id, lock_id: lock_id(table.qualified(), &id), scope: scope.text(), key }
    }
}

/// What the `key` column holds: an idempotency key, or the id of a message. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct KeyText(String);

impl KeyText {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&IdempotencyKey> for KeyText {
    fn from(key: &IdempotencyKey) -> Self {
        Self(key.as_str().to_owned())
    }
}

impl Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyText(_)")
    }
}
