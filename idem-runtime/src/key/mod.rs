//! The idempotency key: what one is, and how it is read from the `Idempotency-Key` field.

mod structured;

use std::fmt;

/// The client's token: 1 to 255 printable ASCII characters, not all of them spaces.
///
/// The header's spellings of one key are equal: `"abc"`, `"abc";v=1` and, in the lenient [`Syntax`], `abc`.
/// Keys are compared byte by byte, so `ABC` and `abc` are two keys.
///
/// A key may be a credential for the stored answer, so it has no `Display`, and its `Debug` shows nothing of
/// it. [`as_str`](Self::as_str) is the one way to read it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The longest key, in characters, counted after quotes and escapes are taken away.
    pub const MAX_LEN: usize = 255;

    /// Makes a key from its plain text: no quotes, no escapes.
    ///
    /// # Errors
    /// [`KeyError::Empty`], [`KeyError::NotAscii`], [`KeyError::ControlCharacter`] or [`KeyError::TooLong`].
    ///
    /// # Examples
    /// ```
    /// use idem_runtime::{IdempotencyKey, KeyError};
    ///
    /// let key = IdempotencyKey::new("order 17")?;
    /// assert_eq!(key.as_str(), "order 17");
    /// assert_eq!(IdempotencyKey::new("  "), Err(KeyError::Empty));
    /// # Ok::<(), KeyError>(())
    /// ```
    pub fn new(plain: impl Into<String>) -> Result<Self, KeyError> {
        let key = plain.into();
        printable(key.as_bytes())?;
        if key.bytes().all(|byte| byte == b' ') {
            return Err(KeyError::Empty);
        }
        if key.len() > Self::MAX_LEN {
            return Err(KeyError::TooLong);
        }
        Ok(Self(key))
    }

    /// Reads a key from the value of one `Idempotency-Key` field line.
    ///
    /// A value that begins with a double quote is only ever read as a String of RFC 9651, section 3.3.3;
    /// parameters behind it are parsed (section 3.1.2) and ignored. Any other value is, in the lenient
    /// [`Syntax`], the key itself: visible ASCII without `"`, `,`, `;` and `\`. It is not parsed as a
    /// structured field, which would take a UUID that begins with a letter and refuse one that begins with a
    /// digit. Spaces and tabs around the value are not part of it (RFC 9110, section 5.5).
    ///
    /// # Errors
    /// Any [`KeyError`] but [`KeyError::Multiple`]. A character that no key may have is reported
    /// before a wrong form, a wrong form before an empty key, an empty key before one that is too long.
    ///
    /// # Examples
    /// ```
    /// use idem_runtime::{IdempotencyKey, KeyError, Syntax};
    ///
    /// let quoted = IdempotencyKey::parse(br#""k-0001""#, Syntax::Strict)?;
    /// let bare = IdempotencyKey::parse(b"k-0001", Syntax::Lenient)?;
    /// assert_eq!(quoted, bare);
    /// assert_eq!(IdempotencyKey::parse(b"k-0001", Syntax::Strict), Err(KeyError::Syntax));
    /// # Ok::<(), KeyError>(())
    /// ```
    pub fn parse(field: &[u8], syntax: Syntax) -> Result<Self, KeyError> {
        let field = trim_whitespace(field);
        printable(field)?;
        match (field.first(), syntax) {
            (None, _) => Err(KeyError::Empty),
            (Some(b'"'), _) => {
                Self::new(structured::string_item(field).map_err(|structured::Malformed| KeyError::Syntax)?)
            }
            (Some(_), Syntax::Lenient) => Self::new(bare(field)?),
            (Some(_), Syntax::Strict) => Err(KeyError::Syntax),
        }
    }

    /// Reads a key from the values of all `Idempotency-Key` field lines of a request; no line is no key.
    ///
    /// # Errors
    /// [`KeyError::Multiple`] if there is more than one line, even if all are equal: what becomes of
    /// a String that was split over lines is unpredictable (RFC 9651, section 4.2). Otherwise as
    /// [`parse`](Self::parse).
    ///
    /// # Examples
    /// ```
    /// use idem_runtime::{IdempotencyKey, KeyError, Syntax};
    ///
    /// let none = IdempotencyKey::from_fields([], Syntax::Lenient)?;
    /// assert!(none.is_none());
    ///
    /// let two = IdempotencyKey::from_fields([b"a".as_slice(), b"a"], Syntax::Lenient);
    /// assert_eq!(two, Err(KeyError::Multiple));
    /// # Ok::<(), KeyError>(())
    /// ```
    pub fn from_fields<'a>(
        fields: impl IntoIterator<Item = &'a [u8]>,
        syntax: Syntax,
    ) -> Result<Option<Self>, KeyError> {
        let mut fields = fields.into_iter();
        match (fields.next(), fields.next()) {
            (None, _) => Ok(None),
            (Some(field), None) => Self::parse(field, syntax).map(Some),
            (Some(_), Some(_)) => Err(KeyError::Multiple),
        }
    }

    /// The key as plain text, without quotes and escapes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key as the value of its field, bare where that is read back as the key, else quoted.
    #[cfg(feature = "axum")]
    pub(crate) fn to_field(&self, syntax: Syntax) -> http::HeaderValue {
        let text = if syntax == Syntax::Lenient && bare(self.0.as_bytes()).is_ok() {
            self.0.clone()
        } else {
            format!("\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
        };
        http::HeaderValue::try_from(text).expect("a key is printable ASCII")
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IdempotencyKey").field(&format_args!("_")).finish()
    }
}

/// Which spellings of a key the `Idempotency-Key` field may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Syntax {
    /// Quoted and bare, `"abc"` and `abc`, as the same key. The default: the draft asks for quotes
    /// (draft-ietf-httpapi-idempotency-key-header-07, section 2.1), most clients send none.
    #[default]
    Lenient,
    /// Quoted only, as the draft asks: a String of RFC 9651, section 3.3.3.
    Strict,
}

/// What a key must look like beyond what every key does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyFormat {
    /// Anything that is a key. The default.
    #[default]
    Any,
    /// A UUID of any version, as 32 hexadecimal digits in the groups 8-4-4-4-12 (RFC 9562, section 4).
    Uuid,
}

impl KeyFormat {
    /// Whether the key has this format.
    #[cfg(feature = "axum")]
    pub(crate) fn accepts(self, key: &IdempotencyKey) -> bool {
        match self {
            Self::Any => true,
            Self::Uuid => is_uuid(key.as_str()),
        }
    }
}

/// Digits and hyphens where a UUID has them. The `uuid` crate would accept other spellings too, such as `urn:uuid:…`.
#[cfg(feature = "axum")]
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Why a text is not an idempotency key. Never holds any part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyError {
    /// The key has no characters, or none but spaces. Send a fresh random one, such as a UUID.
    Empty,
    /// The field is neither one quoted string nor, where that is allowed, one bare word. Put the key in
    /// double quotes, with `\` before each `"` and `\` inside.
    Syntax,
    /// There is a byte outside ASCII. Use printable ASCII characters only.
    NotAscii,
    /// There is a control character, a tab included. Use printable ASCII characters only.
    ControlCharacter,
    /// The request has more than one `Idempotency-Key` field line. Send one.
    Multiple,
    /// The key is longer than [`IdempotencyKey::MAX_LEN`]. Send a shorter one.
    TooLong,
    /// The key has not the format that the API asks for: see [`KeyFormat`].
    Format,
}

impl KeyError {
    /// The reason as one word, as it stands in the member `reason` of the error's body.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Syntax => "syntax",
            Self::NotAscii => "not_ascii",
            Self::ControlCharacter => "control_character",
            Self::Multiple => "multiple",
            Self::TooLong => "too_long",
            Self::Format => "format",
        }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the idempotency key is empty",
            Self::Syntax => "the idempotency key is neither a quoted string nor an accepted bare word",
            Self::NotAscii => "the idempotency key holds a byte outside ASCII",
            Self::ControlCharacter => "the idempotency key holds a control character",
            Self::Multiple => "there is more than one idempotency key",
            Self::TooLong => "the idempotency key is longer than 255 characters",
            Self::Format => "the idempotency key has not the format that the API asks for",
        })
    }
}

impl std::error::Error for KeyError {}

/// Takes away the whitespace that HTTP does not count as part of a field's value.
///
/// A server has done this already; a request built by hand may not have gone through one.
fn trim_whitespace(mut field: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = field {
        field = rest;
    }
    field
}

/// Refuses the bytes that neither a key nor its spelling may have.
fn printable(text: &[u8]) -> Result<(), KeyError> {
    match text.iter().find(|byte| !matches!(byte, b' '..=b'~')) {
        None => Ok(()),
        Some(0x80..) => Err(KeyError::NotAscii),
        Some(_) => Err(KeyError::ControlCharacter),
    }
}

/// Reads a printable field as a bare key.
///
/// Without the characters that could make it one of several, something with parameters, or half a string.
fn bare(field: &[u8]) -> Result<String, KeyError> {
    if field.iter().any(|byte| matches!(byte, b' ' | b'"' | b',' | b';' | b'\\')) {
        return Err(KeyError::Syntax);
    }
    Ok(field.iter().copied().map(char::from).collect())
}

#[cfg(test)]
mod tests;
