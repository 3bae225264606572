//! The canonical form of JSON: it means what the text means, however the text spells it, and where RFC 8785 says the
//! same as we do it is what another implementation writes.
//!
//! The common subset is JSON whose integers are at most 2^53 and whose other numbers a double holds: there, sending
//! every number through a double (RFC 8785, section 3.2.2.3) changes none. Beyond it we keep the digits.

use serde_json::{Number, Value};

use crate::canonical::{self, Error};
use crate::respelled::respelled;

/// Checks `data` as one JSON value, if it is a text.
///
/// # Panics
/// If a promise of the canonical form does not hold.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let (canonical, value) = (of_text(text), serde_json::from_str::<Value>(text));

    match (&canonical, &value) {
        (Ok(canonical), Ok(value)) => means(canonical, value),
        (Ok(canonical), Err(error)) => {
            assert!(is_a_limit(error), "{canonical} was made of what is not JSON: {error}");
        }
        // Two members of one name, of which serde_json keeps the last; and an exponent of more than 64 bits, which is
        // no number of ours, and zero for a double.
        (Err(Error::DuplicateMember(_) | Error::NotANumber), Ok(_)) | (Err(_), Err(_)) => {}
        (Err(error), Ok(value)) => panic!("{value} has no canonical form: {error}"),
    }
    if let Ok(canonical) = canonical {
        assert_eq!(of_text(&canonical).as_ref().ok(), Some(&canonical), "what is canonical stays as it is");
    }
    if let Ok(value) = value {
        every_way_in_ends_in_one_text(&value);
    }
}

/// Whether `serde_json` refuses more than it must: it reads 127 levels, and no number beyond a double.
fn is_a_limit(error: &serde_json::Error) -> bool {
    let error = error.to_string();
    ["number out of range", "recursion limit exceeded"].iter().any(|limit| error.starts_with(limit))
}

/// The canonical text of a JSON text.
fn of_text(text: &str) -> Result<String, Error> {
    let mut canonical = Vec::new();
    canonical::write_text(text, &mut canonical)?;
    Ok(String::from_utf8(canonical).expect("canonical text is UTF-8"))
}

/// The canonical text of a value, which has one.
fn of_value(value: &Value) -> String {
    let mut canonical = Vec::new();
    canonical::write(value, &mut canonical).expect("a parsed value has a canonical form");
    String::from_utf8(canonical).expect("canonical text is UTF-8")
}

/// Canonical text is JSON for an equal value; so two values that differ have two texts.
fn means(canonical: &str, value: &Value) {
    let read: Value = serde_json::from_str(canonical).expect("canonical text is JSON");
    assert!(same(&read, value), "{canonical} does not mean {value}");
    assert_eq!(members(canonical), members(&read.to_string()), "{canonical} has two members of one name");
}

/// How many members the objects of a text without whitespace have: each has a colon outside strings.
fn members(compact: &str) -> usize {
    let (mut members, mut is_string) = (0, false);
    let mut bytes = compact.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_string = !is_string,
            b'\\' => drop(bytes.next()),
            b':' if !is_string => members += 1,
            _ => {}
        }
    }
    members
}

fn every_way_in_ends_in_one_text(value: &Value) {
    let canonical = of_value(value);

    means(&canonical, value);
    let spellings = [
        serde_json::to_string(value).expect("a value can be written"),
        serde_json::to_string_pretty(value).expect("a value can be written"),
        respelled(value),
    ];
    for spelling in spellings {
        assert_eq!(of_text(&spelling).as_ref().ok(), Some(&canonical), "{spelling}");
    }
    let read: Value = serde_json::from_str(&canonical).expect("canonical text is JSON");
    assert_eq!(of_value(&read), canonical, "what is canonical stays as it is");

    if is_common(value) {
        let theirs = serde_json_canonicalizer::to_string(value).expect("the oracle writes every value");
        assert_eq!(canonical, theirs, "what RFC 8785 says");
    }
}

/// Whether RFC 8785 changes no number of the value.
fn is_common(value: &Value) -> bool {
    const MOST: u64 = 1 << 53;
    match value {
        Value::Number(number) => number.is_f64() || number.as_i64().is_some_and(|n| n.unsigned_abs() <= MOST),
        Value::Array(elements) => elements.iter().all(is_common),
        Value::Object(members) => members.values().all(is_common),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// Whether two values mean the same; `==` of `Value` tells `1` from `1.0`.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

fn same_number(one: &Number, other: &Number) -> bool {
    // With a point or an exponent a number was read as a double, so it is compared as one.
    if one.is_f64() || other.is_f64() { one.as_f64() == other.as_f64() } else { one == other }
}
