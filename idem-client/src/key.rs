//! The idempotency key: how it is made, and how it is written into the header.

use std::fmt;

use http::HeaderValue;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// How a key stands in its header field.
///
/// To servers that follow the draft, both are the same key. To one that reads no quotes they are part of the key, so
/// a retry in the other form would be another operation: an [`Operation`](crate::Operation) keeps the form with the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyForm {
    /// `"8e03978e-…"`: a String of RFC 9651, section 3.3.3, as draft-ietf-httpapi-idempotency-key-header-07, section
    /// 2.1, has it.
    #[default]
    Quoted,
    /// `8e03978e-…`: for servers that take the field's value as it is, as those of Stripe do.
    Bare,
}

/// The token of one operation: 1 to 255 printable ASCII characters, not all of them spaces.
///
/// A key may be a credential for the stored answer, so its `Debug` shows nothing of it.
/// [`as_str`](Self::as_str) is the one way to read it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    plain: String,
    form: KeyForm,
}

impl IdempotencyKey {
    /// The longest key, in characters, without quotes and escapes.
    pub const MAX_LEN: usize = 255;

    /// Makes a new key: a random UUID (version 4, RFC 9562, section 5.4). It goes into either form.
    pub(crate) fn random(form: KeyForm) -> Self {
        Self { plain: Uuid::new_v4().to_string(), form }
    }

    /// Takes a key as its plain text, without quotes and escapes.
    pub(crate) fn new(plain: impl Into<String>, form: KeyForm) -> Result<Self, KeyError> {
        let plain = plain.into();
        if !plain.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(KeyError::Character);
        }
        if plain.bytes().all(|byte| byte == b' ') {
            return Err(KeyError::Empty);
        }
        if plain.len() > Self::MAX_LEN {
            return Err(KeyError::TooLong);
        }
        // The characters that a server may read as the end of the key, or as part of something longer.
        if form == KeyForm::Bare && plain.contains([' ', '"', ',', ';', '\\']) {
            return Err(KeyError::Bare);
        }
        Ok(Self { plain, form })
    }

    /// Reads a key that the caller has written into the field.
    pub(crate) fn parse(field: &HeaderValue) -> Result<Self, KeyError> {
        let field = field.to_str().map_err(|_| KeyError::Character)?.trim_matches([' ', '\t']);
        match field.strip_prefix('"') {
            Some(rest) => Self::new(unquoted(rest).ok_or(KeyError::Quotes)?, KeyForm::Quoted),
            None => Self::new(field, KeyForm::Bare),
        }
    }

    /// The key, without quotes and escapes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.plain
    }

    /// How it stands in the field.
    #[must_use]
    pub fn form(&self) -> KeyForm {
        self.form
    }

    /// The same key in another form.
    pub(crate) fn with_form(self, form: KeyForm) -> Result<Self, KeyError> {
        Self::new(self.plain, form)
    }

    /// The field's value: the same bytes each time.
    pub(crate) fn to_field(&self) -> HeaderValue {
        let text = match self.form {
            KeyForm::Quoted => {
                format!("\"{}\"", self.plain.replace('\\', "\\\\").replace('"', "\\\""))
            }
            KeyForm::Bare => self.plain.clone(),
        };
        let mut field = HeaderValue::try_from(text).expect("a key is printable ASCII");
        field.set_sensitive(true);
        field
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyKey").finish_non_exhaustive()
    }
}

/// Reads the rest of a quoted string, behind its first quote (RFC 9651, section 4.2.5).
fn unquoted(rest: &str) -> Option<String> {
    let mut text = String::with_capacity(rest.len());
    let mut characters = rest.chars();
    loop {
        match characters.next()? {
            // Nothing may follow: parameters of a key mean nothing, and would be lost.
            '"' => return characters.as_str().is_empty().then_some(text),
            '\\' => match characters.next()? {
                escaped @ ('"' | '\\') => text.push(escaped),
                _ => return None,
            },
            character => text.push(character),
        }
    }
}

/// A text is no idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// It has no characters, or only spaces. Leave the key to the operation, or name the operation by something.
    Empty,
    /// It has more than 255 characters. Take a digest of what is so long.
    TooLong,
    /// It has a character that is not printable ASCII. Take a digest, or an encoding such as Base64.
    Character,
    /// A header value begins with a quotation mark and is not one quoted string. Escape `"` and `\` by `\`, and put
    /// nothing behind the last quotation mark.
    Quotes,
    /// A space or one of `"`, `,`, `;` and `\` in a key that is to be sent without quotes. Send it with them, or take
    /// another key.
    Bare,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the idempotency key is empty",
            Self::TooLong => "the idempotency key has more than 255 characters",
            Self::Character => "the idempotency key has a character that is not printable ASCII",
            Self::Quotes => "the idempotency key begins with a quotation mark and is not one quoted string",
            Self::Bare => "the idempotency key has a character that it cannot have without quotation marks",
        })
    }
}

impl std::error::Error for KeyError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str) -> HeaderValue {
        HeaderValue::from_bytes(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_random_key_is_a_uuid_of_version_4_and_no_other_is_the_same() {
        let (one, other) = (IdempotencyKey::random(KeyForm::Quoted), IdempotencyKey::random(KeyForm::Quoted));

        assert_eq!(Uuid::parse_str(one.as_str()).unwrap().get_version_num(), 4);
        assert_ne!(one, other);
    }

    #[test]
    fn what_is_written_into_the_field_is_read_back_byte_for_byte() {
        for text in [r#""k-1""#, r#""order 17""#, r#""a \"b\" \\c""#, "k-1", "8e03978e-40d5", "a/b+c=="] {
            assert_eq!(IdempotencyKey::parse(&field(text)).unwrap().to_field(), text);
        }
    }

    #[test]
    fn quotes_are_the_form_and_no_part_of_the_key() {
        let quoted = IdempotencyKey::parse(&field(r#""k-1""#)).unwrap();
        let bare = IdempotencyKey::parse(&field("k-1")).unwrap();

        assert_eq!((quoted.as_str(), bare.as_str()), ("k-1", "k-1"));
        assert_eq!((quoted.form(), bare.form()), (KeyForm::Quoted, KeyForm::Bare));
        assert_eq!(quoted.with_form(KeyForm::Bare), Ok(bare));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for (text, error) in [
            ("", KeyError::Empty),
            (r#""  ""#, KeyError::Empty),
            (r#""k-1"#, KeyError::Quotes),
            (r#""k-1";v=1"#, KeyError::Quotes),
            (r#""k\-1""#, KeyError::Quotes),
            ("k-1, k-2", KeyError::Bare),
            ("k 1", KeyError::Bare),
            ("k\u{e9}", KeyError::Character),
        ] {
            assert_eq!(IdempotencyKey::parse(&field(text)), Err(error), "{text}");
        }
        assert_eq!(IdempotencyKey::new("k\n1", KeyForm::Quoted), Err(KeyError::Character));
        assert!(IdempotencyKey::new("k".repeat(255), KeyForm::Quoted).is_ok());
        assert_eq!(IdempotencyKey::new("k".repeat(256), KeyForm::Quoted), Err(KeyError::TooLong));
    }

    #[test]
    fn neither_the_key_nor_its_field_is_shown() {
        let key = IdempotencyKey::new("secret", KeyForm::Quoted).unwrap();

        assert!(!format!("{key:?} {:?}", key.to_field()).contains("secret"));
    }
}
