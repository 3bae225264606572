//! What the expansions name, and nothing else. Not part of the stable interface.

pub use std::marker::Send;
pub use std::result::Result;

pub use axum::response::Response;

pub use crate::admission::{Admitted, Call};
pub use crate::axum::door::Door;
pub use crate::ending::Ended;
pub use crate::engine::{Attempt, Commit, Lends, Outcome, Recorded, Reserved, Run, outcome};
pub use crate::execute::{Execute, Stop, execute};
pub use crate::held::Held;
pub use crate::options::Options;
pub use crate::outcome::{RecordRule, Verdict};
pub use crate::scope::ScopeValue;
pub use crate::transient::{AtAny, AtAnyhow, AtError, AtResult, AtTransient, Look};
pub use crate::tx::Tx;
