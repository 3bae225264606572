//! What the expansions name, and nothing else. Not part of the stable interface.

pub use axum::response::Response;
pub use http::request::Parts;

pub use crate::admission::Call;
pub use crate::axum::door::Door;
pub use crate::axum::{FindEngine, FromExtension, FromState, Guard, Received, begin};
pub use crate::engine::{Lends, Outcome, outcome};
pub use crate::fingerprint::{Fingerprint, Fingerprinter};
pub use crate::inert::Inert;
pub use crate::key::{KeyFormat, Syntax};
pub use crate::lent::{Lent, lend};
pub use crate::options::{InProgress, Options};
pub use crate::outcome::{RecordRule, Verdict};
pub use crate::policy::sealed::Sealed;
pub use crate::policy::{FromPolicyParts, NoPolicy, Policy, PolicyField, extract};
pub use crate::scope::ScopeValue;
pub use crate::steps::run;
pub use crate::store::{Isolation, Store};
pub use crate::transient::{Look, LookAt};
pub use crate::tx::{Once, Tx};
