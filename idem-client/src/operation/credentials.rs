//! What proves who the sender is: used for each attempt, and not kept with the operation unless asked for.

use http::{HeaderName, HeaderValue, header};

use crate::error::OperationError;

/// Headers that hold credentials by their name, beside those whose value is marked as sensitive.
const NAMES: [HeaderName; 6] = [
    header::AUTHORIZATION,
    header::PROXY_AUTHORIZATION,
    header::COOKIE,
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-auth-token"),
];

/// Whether a header holds credentials.
pub(super) fn is_credential(name: &HeaderName, value: &HeaderValue) -> bool {
    value.is_sensitive() || NAMES.contains(name)
}

/// The credentials of an operation, each with its value, or without if that was not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Credentials(Vec<(HeaderName, Option<HeaderValue>)>);

impl Credentials {
    pub(super) fn push(&mut self, name: HeaderName, value: Option<HeaderValue>) {
        self.0.push((name, value.map(marked)));
    }

    /// Takes the place of every value of this name.
    pub(super) fn set(&mut self, name: HeaderName, value: HeaderValue) {
        self.0.retain(|(known, _)| *known != name);
        self.push(name, Some(value));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&HeaderName, Option<&HeaderValue>)> {
        self.0.iter().map(|(name, value)| (name, value.as_ref()))
    }

    /// The names of those that have no value.
    pub(super) fn missing(&self) -> impl Iterator<Item = &HeaderName> {
        self.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name)
    }
}

/// A value that no `Debug` shows, and that HTTP/2 keeps out of its tables (RFC 7541, section 7.1.3).
fn marked(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

/// A header's value as text, which is what is kept.
pub(super) fn text<'a>(name: &HeaderName, value: &'a HeaderValue) -> Result<&'a str, OperationError> {
    str::from_utf8(value.as_bytes()).map_err(|_| OperationError::HeaderNotText(name.clone()))
}
