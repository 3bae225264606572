//! What idem reads from outside, under arbitrary bytes: a property a module, each with a function `check` that a fuzz
//! target calls with what libFuzzer makes up, and the ordinary tests call with the inputs that are kept.
//!
//! The code under test is internal to its packages, and stays so: it is compiled here once more, from its own files.

#[path = "../../idem-runtime/src/canonical/mod.rs"]
mod canonical;
#[path = "../../idem-runtime/src/replay/codec.rs"]
#[allow(dead_code, reason = "a status is not among the headers")]
mod codec;
#[path = "../../idem-macros/src/duration.rs"]
mod duration;
#[path = "../../idem-runtime/src/key/mod.rs"]
#[allow(dead_code, reason = "one field line is read here, and of any format")]
mod key;
#[path = "../../idem-macros/src/names.rs"]
#[allow(dead_code, reason = "a help lists names, and looks for no near one")]
mod names;

pub mod canonical_json;
pub mod canonical_types;
pub mod header_key;
mod respelled;
pub mod stored_headers;
pub mod ttl;
mod zoo;
