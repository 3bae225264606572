//! What an operator sees: the span of each request, its outcome, and how long its steps took.
//!
//! An [`Observed`] goes with a request from the judging of its key to its answer, through the task that does the work,
//! and is told the outcome there. Whoever drops it on the way has thereby said what became of the request. Span and
//! counter hang on it alone, so they cannot differ. The names are documented in `docs/observability.md`.

#[cfg(feature = "axum")]
mod endpoint;
mod messages;
mod meter;
#[cfg(feature = "axum")]
mod outcome;
#[cfg(feature = "axum")]
mod request;

#[cfg(feature = "axum")]
pub(crate) use self::endpoint::Endpoint;
pub(crate) use self::messages::{MessageOutcome, message, swept};
pub(crate) use self::meter::describe;
#[cfg(feature = "axum")]
pub(crate) use self::meter::{Step, Timer};
#[cfg(feature = "axum")]
pub(crate) use self::request::Observed;

#[cfg(all(test, feature = "axum", feature = "metrics"))]
mod tests;
