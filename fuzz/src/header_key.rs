//! The `Idempotency-Key` field: any bytes are one key or one refusal, and the quoted form is what another parser of
//! RFC 9651 reads.

use sfv::{BareItem, Item, Parser};

use crate::key::{IdempotencyKey, KeyError, Syntax};

/// Checks `field` as the value of one field line.
///
/// # Panics
/// If a promise of [`IdempotencyKey::parse`] does not hold.
pub fn check(field: &[u8]) {
    let lenient = parse(field, Syntax::Lenient);
    let strict = parse(field, Syntax::Strict);

    if !has_a_partly_padded_part(field) {
        assert_eq!(strict, expected(field, quoted), "the quoted syntax");
        assert_eq!(lenient, expected(field, quoted_or_bare), "the lenient syntax");
    }
    if let Ok(key) = &lenient {
        every_spelling_is_the_key(key);
    }
    if strict.is_ok() {
        assert_eq!(lenient, strict, "the lenient syntax accepts more, and nothing otherwise");
    }
}

fn parse(field: &[u8], syntax: Syntax) -> Result<String, KeyError> {
    IdempotencyKey::parse(field, syntax).map(|key| key.as_str().to_owned())
}

fn every_spelling_is_the_key(key: &str) {
    assert!(matches!(key.len(), 1..=255), "{key:?} is too short or too long");
    assert!(key.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{key:?} is not printable ASCII");
    assert!(key.bytes().any(|byte| byte != b' '), "{key:?} is blank");

    assert_eq!(IdempotencyKey::new(key).as_ref().map(IdempotencyKey::as_str), Ok(key), "the plain text");
    let quoted = format!("\"{}\"", key.replace('\\', r"\\").replace('"', r#"\""#));
    for field in [format!("{quoted};v=1"), format!("\t {quoted} "), quoted] {
        for syntax in [Syntax::Strict, Syntax::Lenient] {
            assert_eq!(parse(field.as_bytes(), syntax).as_deref(), Ok(key), "{field}");
        }
    }
}

/// What a field ought to be, `spelling` telling the text of a printable one.
fn expected(field: &[u8], spelling: fn(&str) -> Option<String>) -> Result<String, KeyError> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = field.iter().take_while(|byte| blank(byte)).count();
    let end = field.len() - field.iter().rev().take_while(|byte| blank(byte)).count();
    let Some(value) = field.get(start..end).filter(|value| !value.is_empty()) else {
        return Err(KeyError::Empty);
    };
    match value.iter().find(|byte| !(32..127).contains(*byte)) {
        Some(128..) => return Err(KeyError::NotAscii),
        Some(_) => return Err(KeyError::ControlCharacter),
        None => {}
    }
    let value = str::from_utf8(value).expect("ASCII");
    match spelling(value).ok_or(KeyError::Syntax)? {
        key if key.trim_matches(' ').is_empty() => Err(KeyError::Empty),
        key if key.len() > 255 => Err(KeyError::TooLong),
        key => Ok(key),
    }
}

fn quoted_or_bare(value: &str) -> Option<String> {
    let is_bare = !value.contains([' ', '"', ',', ';', '\\']);
    if is_bare { Some(value.to_owned()) } else { quoted(value) }
}

/// The String that another parser of RFC 9651 reads.
fn quoted(value: &str) -> Option<String> {
    match Parser::new(value).parse::<Item>().ok()?.bare_item {
        BareItem::String(text) => Some(text.as_str().to_owned()),
        _ => None,
    }
}

/// Whether there is a Byte Sequence with one of the two `=` that it needs, or what looks like one.
///
/// RFC 9651, section 4.2.7, lets a parser add padding where there is none, and does not say what half of it is: the
/// oracle adds the other half, we refuse it.
fn has_a_partly_padded_part(field: &[u8]) -> bool {
    field.windows(2).enumerate().filter(|(_, pair)| *pair == b"=:").any(|(at, _)| {
        let bytes = field[at + 2..].split(|byte| *byte == b':').next().unwrap_or_default();
        bytes.len() % 4 == 3 && bytes.ends_with(b"=") && !bytes.ends_with(b"==")
    })
}
