//! serde's data model to canonical text, each part as `serde_json` would write it.

use std::fmt::Display;

use serde::ser::{self, Serialize};

use super::array::Array;
use super::object::Object;
use super::private::Struct;
use super::{Error, MAX_DEPTH, Sink, float, string};

/// Writes one value.
pub(super) struct Serializer<'s> {
    sink: &'s mut dyn Sink,
    /// How many levels may still be opened inside this value.
    room: usize,
}

impl<'s> Serializer<'s> {
    /// Writes the outermost value.
    pub(super) fn new(sink: &'s mut dyn Sink) -> Self {
        Self { sink, room: MAX_DEPTH }
    }

    /// Writes a value inside one that has `room` levels left.
    pub(super) fn within(sink: &'s mut dyn Sink, room: usize) -> Result<Self, Error> {
        Ok(Self { sink, room: room.checked_sub(1).ok_or(Error::TooDeep)? })
    }

    /// The sink, and the levels left.
    pub(super) fn into_parts(self) -> (&'s mut dyn Sink, usize) {
        (self.sink, self.room)
    }

    fn put(self, text: &str) {
        self.sink.put(text.as_bytes());
    }

    /// Opens the object that names an enum's variant: `{"variant":`.
    fn open_variant(self, variant: &str) -> Result<Self, Error> {
        self.sink.put(b"{");
        string::write(variant, self.sink);
        self.sink.put(b":");
        Self::within(self.sink, self.room)
    }
}

impl<'s> ser::Serializer for Serializer<'s> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Array<'s>;
    type SerializeTuple = Array<'s>;
    type SerializeTupleStruct = Array<'s>;
    type SerializeTupleVariant = Array<'s>;
    type SerializeMap = Object<'s>;
    type SerializeStruct = Struct<'s>;
    type SerializeStructVariant = Object<'s>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.put(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.put(&value.to_string());
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        self.put(&value.to_string());
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.put(&value.to_string());
        Ok(())
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        self.put(&value.to_string());
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.put(&float::canonical(value)?);
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.put(&float::canonical(value)?);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        string::write(value, self.sink);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        let mut array = Array::open(self, "]");
        for byte in value {
            array.element(|within| within.serialize_u8(*byte))?;
        }
        array.close()
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(Self::within(self.sink, self.room)?)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.put("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(Self::within(self.sink, self.room)?)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let within = self.open_variant(variant)?;
        value.serialize(Serializer { sink: &mut *within.sink, room: within.room })?;
        within.put("}");
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Array<'s>, Error> {
        Ok(Array::open(self, "]"))
    }

    fn serialize_tuple(self, _len: usize) -> Result<Array<'s>, Error> {
        Ok(Array::open(self, "]"))
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Array<'s>, Error> {
        Ok(Array::open(self, "]"))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Array<'s>, Error> {
        Ok(Array::open(self.open_variant(variant)?, "]}"))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Object<'s>, Error> {
        Ok(Object::open(self, "}"))
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Struct<'s>, Error> {
        Ok(Struct::open(self, name))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Object<'s>, Error> {
        Ok(Object::open(self.open_variant(variant)?, "}}"))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.serialize_str(&string::displayed(value)?)
    }
}
