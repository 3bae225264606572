//! The canonical form of a value: one text for all values that mean the same.
//!
//! It is the JSON that serde would write for the value, laid out as RFC 8785 asks: no whitespace (3.2.1), the
//! shortest string escapes (3.2.2.2), floats as ECMAScript writes them (3.2.2.3), members sorted by the
//! UTF-16 code units of their names (3.2.3). Four things are our own:
//!
//! - **Integers are exact at any width.** RFC 8785 sends every number through an IEEE double, after which
//!   9007199254740993 and 9007199254740992 are the same amount.
//! - **Numbers that arrive as text** (`serde_json`'s `RawValue`, or its `Number` under `arbitrary_precision`)
//!   are exact too; [`decimal::canonical`] has the rule. A number that survives a double is written as RFC
//!   8785 would.
//! - **An `f32` has its own shortest form**: `0.1_f32` is `0.1`, not the double next to it.
//! - **What has no canonical form is an error**: NaN and infinities, two members of one name, a lone
//!   surrogate, a map key that is not a text, a `Serialize` that fails, nesting beyond [`MAX_DEPTH`].
//!
//! The text goes to a [`Sink`] as it is made. Only the members of an object wait in memory, since they must
//! be sorted. The form is stored data: a change of it is a new format version of the fingerprint.

mod array;
mod decimal;
mod error;
mod float;
mod name;
mod object;
mod private;
mod reader;
mod serializer;
mod string;

use serde::Serialize;
use serializer::Serializer;

pub(crate) use error::Error;

/// How many values may stand inside one another; `Some` and newtypes count as well as arrays and objects.
///
/// `serde_json` reads 127 levels of arrays and objects, and a level is at most a newtype, a `Some` and the
/// object itself, so whatever its parser accepts fits.
pub(crate) const MAX_DEPTH: usize = 400;

/// Where canonical text goes: a hash, or memory.
pub(crate) trait Sink {
    /// Appends `text`, a piece of UTF-8 that may end inside a token but not inside a character.
    fn put(&mut self, text: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }
}

/// Writes the canonical form of `value` to `sink`.
///
/// # Errors
/// Any [`Error`]. Part of the text may have been written by then; the caller throws the sink away.
pub(crate) fn write<T: Serialize + ?Sized>(value: &T, sink: &mut dyn Sink) -> Result<(), Error> {
    value.serialize(Serializer::new(sink))
}

/// Writes the canonical form of `text`, one JSON value as it was received, every number exact.
///
/// # Errors
/// As [`write`], and [`Error::NotJson`].
pub(crate) fn write_text(text: &str, sink: &mut dyn Sink) -> Result<(), Error> {
    reader::write(text, Serializer::new(sink))
}

#[cfg(test)]
mod tests;
