//! The integration with axum.

pub(crate) mod door;
#[cfg(feature = "axum-extra")]
mod extra;
mod extract;
mod guard;

pub use self::guard::{FindEngine, FromExtension, FromState, Guard, HasEngine};
