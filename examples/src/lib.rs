//! What the runnable examples share.

pub mod payments;
pub mod reference;
pub mod stream;
pub mod webhooks;

/// The code of the README, which has to compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The code of the operators' page likewise.
#[cfg(doctest)]
#[doc = include_str!("../../docs/operations.md")]
struct Operations;
