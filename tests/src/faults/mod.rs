//! Every moment of a request at which a fault can strike, and what must follow.
//!
//! The rounds of a request are recorded once ([`Recording`]); a test then goes through all of them, has the fault
//! strike at each, on either side of the server, and asks what the protocol says of that position ([`Expected`])
//! and whether the retry left everything as it should be ([`Case`]). So no list of moments has to be kept by hand.

mod case;
mod recording;
mod step;

pub use case::{Case, Kind};
pub use recording::{Counted, Moment, Recording};
pub use step::{Expected, Told};

/// Whether the tests run at full length: `IDEM_TEST_LONG=1`.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("IDEM_TEST_LONG").is_some_and(|value| value == "1")
}
