//! Objects: members wait until all are there, then leave sorted.

use std::ops::Range;

use serde::ser::{self, Serialize};

use super::name::Name;
use super::serializer::Serializer;
use super::{Error, Sink, string};

/// An object that has been opened.
pub(super) struct Object<'s> {
    sink: &'s mut dyn Sink,
    room: usize,
    members: Members,
    /// The name whose value has not come yet.
    name: Option<String>,
    /// A member has failed. A `Serialize` that goes on regardless must not end in a smaller object.
    has_failed: bool,
    close: &'static str,
}

/// Members in the order they came: each a name, and where its value's canonical text is.
#[derive(Default)]
struct Members {
    values: Vec<u8>,
    places: Vec<(String, Range<usize>)>,
}

impl<'s> Object<'s> {
    /// Opens an object; `close` ends it, and what was opened around it.
    pub(super) fn open(within: Serializer<'s>, close: &'static str) -> Self {
        let (sink, room) = within.into_parts();
        Self { sink, room, members: Members::default(), name: None, has_failed: false, close }
    }

    /// Adds a member, its value written by `write`.
    pub(super) fn member(
        &mut self,
        name: String,
        write: impl FnOnce(Serializer<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let start = self.members.values.len();
        let written = Serializer::within(&mut self.members.values, self.room).and_then(write);
        self.members.places.push((name, start..self.members.values.len()));
        self.has_failed |= written.is_err();
        written
    }

    /// Sorts the members and writes the object.
    pub(super) fn close(self) -> Result<(), Error> {
        if self.has_failed || self.name.is_some() {
            return Err(Error::Incomplete);
        }
        self.members.write(self.sink)?;
        self.sink.put(self.close.as_bytes());
        Ok(())
    }
}

impl Members {
    fn write(mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        // UTF-16 code units and not bytes: U+FB33 sorts after U+1F602, whose first unit is a surrogate,
        // 0xD83D.
        self.places.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        if let Some(twins) = self.places.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::DuplicateMember(twins[0].0.clone()));
        }

        sink.put(b"{");
        for (index, (name, place)) in self.places.into_iter().enumerate() {
            if index > 0 {
                sink.put(b",");
            }
            string::write(&name, sink);
            sink.put(b":");
            sink.put(&self.values[place]);
        }
        Ok(())
    }
}

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let name = Name::within(self.room).and_then(|within| key.serialize(within));
        match name {
            Ok(name) if self.name.is_none() => {
                self.name = Some(name);
                Ok(())
            }
            outcome => {
                self.has_failed = true;
                Err(outcome.err().unwrap_or(Error::Incomplete))
            }
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let Some(name) = self.name.take() else {
            self.has_failed = true;
            return Err(Error::Incomplete);
        };
        self.member(name, |within| value.serialize(within))
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeStruct for Object<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.member(name.to_owned(), |within| value.serialize(within))
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeStructVariant for Object<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.member(name.to_owned(), |within| value.serialize(within))
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}
