//! The integration with axum.

pub(crate) mod door;
#[cfg(feature = "axum-extra")]
mod extra;
pub(crate) mod extract;
