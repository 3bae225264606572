//! The integration with axum.

pub(crate) mod door;
#[cfg(feature = "axum-extra")]
mod extra;
mod extract;
mod guard;
mod received;

pub use self::guard::{FindEngine, FromExtension, FromState, Guard, HasEngine, begin};
pub use self::received::Received;
