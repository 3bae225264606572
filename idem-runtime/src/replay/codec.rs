//! The format of the column that holds the headers of an answer.
//!
//! ```text
//! column = version count header{count}
//! header = length name length value
//! ```
//!
//! `version` is one byte, `count` and each `length` a 32-bit big-endian number; names are in lower case,
//! values are bytes as sent. The format is read by every later version of the library for as long as a key
//! row lives, so a change takes a new version number, and the reader of the old one stays.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};

const VERSION: u8 = 1;

/// The columns of a key row do not hold an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// The status is not a number of three digits.
    Status,
    /// The headers are in a format that this version of the library does not know, or in none.
    Version,
    /// The headers end too early.
    Truncated,
    /// Something follows the headers.
    Trailing,
    /// What stands for a header's name is none in lower case.
    Name,
    /// A header's value has bytes that none may have.
    Value,
    /// There are more names than any message can have.
    TooMany,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stored response cannot be read: ")?;
        f.write_str(match self {
            Self::Status => "its status is not an HTTP status",
            Self::Version => "its headers are in an unknown format",
            Self::Truncated => "its headers end too early",
            Self::Trailing => "something follows its headers",
            Self::Name => "the name of a header is not valid",
            Self::Value => "the value of a header is not valid",
            Self::TooMany => "it has too many headers",
        })
    }
}

impl std::error::Error for DecodeError {}

pub(super) fn encode(headers: &HeaderMap) -> Vec<u8> {
    let mut column = vec![VERSION];
    push_length(&mut column, headers.len());
    for (name, value) in headers {
        for text in [name.as_str().as_bytes(), value.as_bytes()] {
            push_length(&mut column, text.len());
            column.extend_from_slice(text);
        }
    }
    column
}

fn push_length(column: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("the headers of an answer are shorter than 4 GiB");
    column.extend_from_slice(&length.to_be_bytes());
}

/// Reads a column, whatever its bytes: they may come from a damaged or a foreign table.
pub(super) fn decode(column: &[u8]) -> Result<HeaderMap, DecodeError> {
    let Some((&VERSION, mut rest)) = column.split_first() else { return Err(DecodeError::Version) };
    let count = take_length(&mut rest)?;
    // Grows with what is really there: a damaged count must not decide how much memory is asked for.
    let mut headers = HeaderMap::new();
    for _ in 0..count {
        let name = HeaderName::from_lowercase(take_text(&mut rest)?).map_err(|_| DecodeError::Name)?;
        let value = HeaderValue::from_bytes(take_text(&mut rest)?).map_err(|_| DecodeError::Value)?;
        headers.try_append(name, value).map_err(|_| DecodeError::TooMany)?;
    }
    if rest.is_empty() { Ok(headers) } else { Err(DecodeError::Trailing) }
}

fn take_length(rest: &mut &[u8]) -> Result<u32, DecodeError> {
    let (length, after) = rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
    *rest = after;
    Ok(u32::from_be_bytes(*length))
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let length = usize::try_from(take_length(rest)?).map_err(|_| DecodeError::Truncated)?;
    let (text, after) = rest.split_at_checked(length).ok_or(DecodeError::Truncated)?;
    *rest = after;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue, header};

    use super::{DecodeError, decode, encode};

    /// Two values of one name, an empty value, and bytes beyond ASCII.
    fn sample() -> HeaderMap {
        HeaderMap::from_iter([
            (header::LINK, HeaderValue::from_static("</a>")),
            (header::LINK, HeaderValue::from_static("")),
            (HeaderName::from_static("x"), HeaderValue::from_bytes(b"\xe9\t!").expect("a valid value")),
        ])
    }

    /// `sample` as it was written by the first release: this must be readable for ever.
    const GOLDEN: &[u8] = b"\x01\0\0\0\x03\
        \0\0\0\x04link\0\0\0\x04</a>\
        \0\0\0\x04link\0\0\0\0\
        \0\0\0\x01x\0\0\0\x03\xe9\t!";

    #[test]
    fn the_format_is_the_golden_one() {
        assert_eq!(encode(&sample()), GOLDEN);
        assert_eq!(decode(GOLDEN), Ok(sample()));
    }

    #[test]
    fn no_headers_are_a_version_and_a_count() {
        assert_eq!(encode(&HeaderMap::new()), b"\x01\0\0\0\0");
        assert_eq!(decode(b"\x01\0\0\0\0"), Ok(HeaderMap::new()));
    }

    #[test]
    fn every_shorter_column_is_reported_as_cut() {
        assert_eq!(decode(&[]), Err(DecodeError::Version));
        for length in 1..GOLDEN.len() {
            assert_eq!(decode(&GOLDEN[..length]), Err(DecodeError::Truncated), "{length} bytes");
        }
    }

    #[test]
    fn a_longer_column_is_refused() {
        let longer = [GOLDEN, b"\0"].concat();

        assert_eq!(decode(&longer), Err(DecodeError::Trailing));
    }

    #[test]
    fn other_versions_are_refused() {
        for version in (0..=u8::MAX).filter(|&version| version != 1) {
            assert_eq!(decode(&[version, 0, 0, 0, 0]), Err(DecodeError::Version));
        }
    }

    #[test]
    fn lengths_beyond_the_column_ask_for_no_memory() {
        assert_eq!(decode(b"\x01\xff\xff\xff\xff"), Err(DecodeError::Truncated));
        assert_eq!(decode(b"\x01\0\0\0\x01\xff\xff\xff\xffx"), Err(DecodeError::Truncated));
    }

    #[test]
    fn names_and_values_that_no_header_has_are_refused() {
        assert_eq!(decode(b"\x01\0\0\0\x01\0\0\0\0\0\0\0\0"), Err(DecodeError::Name));
        assert_eq!(decode(b"\x01\0\0\0\x01\0\0\0\x01X\0\0\0\0"), Err(DecodeError::Name));
        assert_eq!(decode(b"\x01\0\0\0\x01\0\0\0\x01 \0\0\0\0"), Err(DecodeError::Name));
        assert_eq!(decode(b"\x01\0\0\0\x01\0\0\0\x01x\0\0\0\x02\r\n"), Err(DecodeError::Value));
    }

    #[test]
    fn more_names_than_a_message_can_have_are_refused() {
        let mut column = b"\x01\0\0\xff\xff".to_vec();
        for number in 0..0xffff {
            column.extend_from_slice(b"\0\0\0\x06");
            column.extend_from_slice(format!("x{number:05}").as_bytes());
            column.extend_from_slice(b"\0\0\0\0");
        }

        assert_eq!(decode(&column), Err(DecodeError::TooMany));
    }

    #[test]
    fn any_bytes_are_refused_or_read_to_the_last() {
        // Damages the sample one byte at a time, and then reads pseudo-random bytes (xorshift, fixed seed).
        for position in 0..GOLDEN.len() {
            for byte in 0..=u8::MAX {
                let mut column = GOLDEN.to_vec();
                column[position] = byte;
                assert_total(&column);
            }
        }
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..20_000 {
            let mut column = vec![1, 0, 0, 0, 2];
            for _ in 0..4 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                column.extend(state.to_be_bytes().map(|byte| byte & 0x77));
            }
            assert_total(&column);
        }
    }

    fn assert_total(column: &[u8]) {
        if let Ok(headers) = decode(column) {
            let again = encode(&headers);
            assert_eq!(again.len(), column.len());
            assert_eq!(decode(&again), Ok(headers));
        }
    }
}
