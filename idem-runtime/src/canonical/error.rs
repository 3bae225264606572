//! Why a value has no canonical form.

use std::fmt::{self, Display};

/// Why a value has no canonical form.
#[derive(Debug)]
pub(crate) enum Error {
    /// A float that is NaN or infinite; JSON has no such numbers (RFC 8785, 3.2.2.3).
    NotFinite,
    /// Two members of one object have this name (RFC 8785, 3.1, through RFC 7493, 2.3).
    DuplicateMember(String),
    /// A map key that is neither a text nor something `serde_json` writes as one.
    KeyNotText,
    /// More than [`MAX_DEPTH`](super::MAX_DEPTH) values inside one another.
    TooDeep,
    /// A number that arrived as text and is not a JSON number, or whose exponent does not fit 64 bits.
    NotANumber,
    /// A `RawValue`, or a body as received, that is not JSON at this byte.
    NotJson {
        /// Offset of the offending byte, from 0.
        at: usize,
    },
    /// A `Serialize` implementation that went on after one of its parts had failed, or that broke serde's
    /// protocol.
    Incomplete,
    /// A `Serialize` or `Display` implementation failed, in its own words.
    Custom(String),
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite => f.write_str("NaN and infinities have no JSON form"),
            Self::DuplicateMember(name) => write!(f, "two members of one object are named {name:?}"),
            Self::KeyNotText => f.write_str("a map key is not a string"),
            Self::TooDeep => f.write_str("values are nested too deeply"),
            Self::NotANumber => f.write_str("a number given as text is not a JSON number"),
            Self::NotJson { at } => write!(f, "a raw value is not JSON at byte {at}"),
            Self::Incomplete => f.write_str("a `Serialize` implementation left its value incomplete"),
            Self::Custom(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

impl serde::ser::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self::Custom(message.to_string())
    }
}
