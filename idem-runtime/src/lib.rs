//! Idempotent HTTP handlers whose idempotency key, business writes and stored answer commit in one
//! transaction, or not at all.

mod builder;
mod canonical;
mod error;
mod fingerprint;
mod idempotency;
mod inert;
mod key;
mod scope;
mod store;
mod tasks;
mod transient;
mod tx;

#[cfg(feature = "axum")]
mod admission;
#[cfg(feature = "axum")]
mod answer;
#[cfg(feature = "axum")]
mod axum;
#[cfg(feature = "axum")]
mod ending;
#[cfg(feature = "axum")]
mod engine;
#[cfg(feature = "axum")]
mod execute;
#[cfg(feature = "axum")]
mod held;
#[cfg(feature = "axum")]
mod in_process;
#[cfg(feature = "axum")]
mod options;
mod outcome;
#[cfg(feature = "axum")]
mod policy;
mod problem;
#[cfg(feature = "axum")]
mod recording;
mod replay;

#[cfg(feature = "axum")]
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use idem_macros::idempotent;

#[cfg(feature = "axum")]
pub use self::axum::{Guard, HasEngine};
pub use self::builder::Builder;
pub use self::error::{BuildError, Error};
pub use self::fingerprint::{Digest, Fingerprint, FingerprintError, Fingerprinter, Payload};
pub use self::idempotency::Idempotency;
pub use self::inert::Inert;
pub use self::key::{IdempotencyKey, KeyError, Syntax};
pub use self::outcome::{DoNotRecord, KeepWrites, Record, RecordRule};
#[cfg(feature = "axum")]
pub use self::policy::{NoPolicy, Policy};
pub use self::problem::DEFAULT_PROBLEM_BASE;
pub use self::replay::{
    IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED, REQUEST_HEADERS, RESPONSE_HEADERS, StoredResponse,
};
pub use self::scope::{Scope, ScopeError, ScopeValue};
#[cfg(feature = "sqlite")]
pub use self::store::SqlitePools;
pub use self::store::{Isolation, KeyRow, Source, Store, TableNameError};
pub use self::transient::{Transient, is_transient};
pub use self::tx::Tx;
