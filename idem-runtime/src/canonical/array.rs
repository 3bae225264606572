//! Arrays, written straight to the sink.

use serde::ser::{self, Serialize};

use super::serializer::Serializer;
use super::{Error, Sink};

/// An array that has been opened.
pub(super) struct Array<'s> {
    sink: &'s mut dyn Sink,
    room: usize,
    is_first: bool,
    /// An element has failed. A `Serialize` that goes on regardless must not end in a shorter array.
    has_failed: bool,
    close: &'static str,
}

impl<'s> Array<'s> {
    /// Opens an array; `close` ends it, and what was opened around it.
    pub(super) fn open(within: Serializer<'s>, close: &'static str) -> Self {
        let (sink, room) = within.into_parts();
        sink.put(b"[");
        Self { sink, room, is_first: true, has_failed: false, close }
    }

    /// Writes the next element with `write`.
    pub(super) fn element(
        &mut self,
        write: impl FnOnce(Serializer<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !std::mem::take(&mut self.is_first) {
            self.sink.put(b",");
        }
        let written = Serializer::within(&mut *self.sink, self.room).and_then(write);
        self.has_failed |= written.is_err();
        written
    }

    /// Closes the array.
    pub(super) fn close(self) -> Result<(), Error> {
        if self.has_failed {
            return Err(Error::Incomplete);
        }
        self.sink.put(self.close.as_bytes());
        Ok(())
    }
}

impl ser::SerializeSeq for Array<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(|within| value.serialize(within))
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTuple for Array<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(|within| value.serialize(within))
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTupleStruct for Array<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(|within| value.serialize(within))
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTupleVariant for Array<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(|within| value.serialize(within))
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}
