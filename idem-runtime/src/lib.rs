//! Idempotent HTTP handlers whose idempotency key, business writes and stored answer commit in one
//! transaction, or not at all.

mod canonical;
mod fingerprint;
mod inert;
mod key;
mod outcome;
mod problem;
mod replay;
mod scope;
mod transient;

#[cfg(feature = "axum")]
mod axum;

pub use fingerprint::{Digest, Fingerprint, FingerprintError, Fingerprinter, Payload};
pub use idem_macros::{Inert, ScopeValue, idempotent};
pub use inert::Inert;
pub use key::{IdempotencyKey, KeyError, Syntax};
pub use outcome::{DoNotRecord, KeepWrites, Record, RecordRule};
pub use replay::StoredResponse;
pub use scope::{Scope, ScopeError, ScopeValue};
pub use transient::{Transient, is_transient};
