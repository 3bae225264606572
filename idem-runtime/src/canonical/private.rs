//! The two forms in which `serde_json` hands JSON text through serde.
//!
//! Both are a struct of one field, the struct and the field bearing a name that no one else uses. They are
//! `serde_json`'s private agreement with itself, but the only way to meet its `RawValue`, and every number of
//! a build in which some crate has switched on `arbitrary_precision`. The tests under
//! `tests/serde-json-features` hold us to it with each version of `serde_json`.

use serde::ser::{self, Serialize};

use super::name::Name;
use super::object::Object;
use super::serializer::Serializer;
use super::{Error, decimal, reader};

/// What the text in a private form is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `serde_json::value::RawValue`: one JSON value, as it was received.
    RawValue,
    /// `serde_json::Number` under `arbitrary_precision`: one number, as it was received.
    Number,
}

impl Form {
    fn named(name: &str) -> Option<Self> {
        match name {
            "$serde_json::private::RawValue" => Some(Self::RawValue),
            "$serde_json::private::Number" => Some(Self::Number),
            _ => None,
        }
    }
}

/// A struct that has been opened: an object like any other, or one of the private forms.
pub(super) enum Struct<'s> {
    /// An object, its fields the members.
    Object(Object<'s>),
    /// A private form; the serializer is gone when its one field has been written.
    Private(PrivateText<'s>),
}

/// A private form of `serde_json`.
pub(super) struct PrivateText<'s> {
    form: Form,
    within: Option<Serializer<'s>>,
    is_written: bool,
}

impl<'s> Struct<'s> {
    /// Opens the struct called `name`.
    pub(super) fn open(within: Serializer<'s>, name: &str) -> Self {
        match Form::named(name) {
            Some(form) => Self::Private(PrivateText { form, within: Some(within), is_written: false }),
            None => Self::Object(Object::open(within, "}")),
        }
    }
}

impl PrivateText<'_> {
    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        let (Some(within), true) = (self.within.take(), Form::named(name) == Some(self.form)) else {
            return Err(Error::Incomplete);
        };
        let (sink, room) = within.into_parts();
        let text = value.serialize(Name::within(room)?)?;
        match self.form {
            Form::Number => sink.put(decimal::canonical(&text)?.as_bytes()),
            Form::RawValue => reader::write(&text, Serializer::within(sink, room)?)?,
        }
        self.is_written = true;
        Ok(())
    }
}

impl ser::SerializeStruct for Struct<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        match self {
            Self::Object(object) => object.serialize_field(name, value),
            Self::Private(text) => text.field(name, value).inspect_err(|_| text.is_written = false),
        }
    }

    fn end(self) -> Result<(), Error> {
        match self {
            Self::Object(object) => object.close(),
            Self::Private(PrivateText { is_written: true, .. }) => Ok(()),
            Self::Private(_) => Err(Error::Incomplete),
        }
    }
}
