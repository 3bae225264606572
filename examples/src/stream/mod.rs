//! Orders that arrive on a Redis stream, each at least once, and are shipped once.
//!
//! ```text
//! stream `orders` ── consumer group ──> consume: claim the message, ship, queue an event  ── COMMIT ──> XACK
//!                                       dispatch: take events from the outbox ── XADD to `orders.shipped` ── COMMIT
//! ```
//!
//! Three things repeat a message: the producer, which adds it again when it was not told that the first was added;
//! Redis, which gives an entry that was not acknowledged to another consumer; and a consumer that dies between COMMIT
//! and XACK. To the inbox all three are the same: the message's own id comes again.

mod consumer;
mod database;
mod message;
mod outbox;

pub use self::consumer::{Consumer, Settings};
pub use self::database::{StreamDatabase, create_stream_tables};
pub use self::message::{OrderPlaced, publish};
pub use self::outbox::Dispatcher;
