//! What the runnable examples share.

pub mod reference;
