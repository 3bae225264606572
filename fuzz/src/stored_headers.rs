//! The column that holds the headers of a stored answer: any bytes are the headers that the format says, or are
//! refused, and no damaged length asks for memory.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::codec::{decode, encode};

/// Checks `data` as such a column, and as a block of header lines that is to be stored.
///
/// # Panics
/// If a promise of the format does not hold.
pub fn check(data: &[u8]) {
    let mut decoded = None;
    let asked = allocation_counter::measure(|| decoded = decode(data).ok());
    // A header is nine bytes at least, and a place for it in the map about a hundred; a map that grows is held twice.
    assert!(asked.bytes_max <= 1_024 + 64 * data.len() as u64, "{asked:?} for {} bytes", data.len());

    assert_eq!(decoded.as_ref().map(pairs), headers_of(data).map(grouped), "what the format says");
    if let Some(headers) = decoded {
        let column = encode(&headers);
        assert_eq!(column.len(), data.len(), "nothing is lost");
        assert_eq!(encode(&survives(headers)), column, "written once, it is written so again");
    }

    survives(header_lines(data));
}

/// Writes headers and reads them back.
fn survives(headers: HeaderMap) -> HeaderMap {
    let read = decode(&encode(&headers)).expect("what was written can be read");
    assert_eq!(pairs(&read), pairs(&headers), "names, values, and the order within a name");
    headers
}

/// A header: name and value.
type Pair = (Vec<u8>, Vec<u8>);

fn pairs(headers: &HeaderMap) -> Vec<Pair> {
    headers.iter().map(|(name, value)| (name.as_str().into(), value.as_bytes().into())).collect()
}

/// The headers of a column, read as its documentation describes it.
fn headers_of(column: &[u8]) -> Option<Vec<Pair>> {
    let mut rest = column.strip_prefix(&[1])?;
    let count = number(&mut rest)?;
    let mut headers = Vec::new();
    for _ in 0..count {
        let name = text(&mut rest).filter(|name| is_name(name))?;
        let value = text(&mut rest).filter(|value| is_value(value))?;
        headers.push((name, value));
    }
    rest.is_empty().then_some(headers)
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (number, after) = rest.split_at_checked(4)?;
    *rest = after;
    Some(number.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

fn text(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let length = number(rest)?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(text.to_vec())
}

/// A token of RFC 9110, section 5.6.2, without upper case; and with the double quote, which the `http` crate lets every
/// name have. What a handler can send must be readable when it has been stored.
fn is_name(text: &[u8]) -> bool {
    let is_in_names =
        |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9') || b"!#$%&'*+-.^_`|~\"".contains(byte);
    !text.is_empty() && text.iter().all(is_in_names)
}

/// What RFC 9110, section 5.5, lets a value have: the tab, visible characters, spaces, and bytes beyond ASCII.
fn is_value(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 128..))
}

/// The headers with all values of a name where the name stood first, as a map gives them.
fn grouped(mut headers: Vec<Pair>) -> Vec<Pair> {
    let names: Vec<Vec<u8>> = headers.iter().map(|(name, _)| name.clone()).collect();
    headers.sort_by_key(|(name, _)| names.iter().position(|first| first == name));
    headers
}

/// What is a header among lines of `name:value`.
fn header_lines(data: &[u8]) -> HeaderMap {
    let lines = data.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at(colon);
            Some((HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(&value[1..]).ok()?))
        })
        .collect()
}
