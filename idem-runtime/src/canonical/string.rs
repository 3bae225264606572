//! Strings with the escapes of RFC 8785, 3.2.2.2.

use std::fmt::{Display, Write as _};

use super::{Error, Sink};

/// Writes `text` in quotes.
///
/// Escaped are the quote, the backslash and the control characters below U+0020, the latter by their short
/// form if they have one and by lower-case `\u00xx` if not. Everything else is written as it is: no Unicode
/// normalisation, so `Å` as one character and as two are different texts (RFC 8785, 3.1).
pub(super) fn write(text: &str, sink: &mut dyn Sink) {
    sink.put(b"\"");
    let mut rest = text.as_bytes();
    // Every byte that is escaped is ASCII, so no piece ends inside a character.
    while let Some(at) = rest.iter().position(|&byte| is_escaped(byte)) {
        let (plain, from) = rest.split_at(at);
        sink.put(plain);
        put_escape(from[0], sink);
        rest = &from[1..];
    }
    sink.put(rest);
    sink.put(b"\"");
}

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn put_escape(byte: u8, sink: &mut dyn Sink) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => sink.put(b"\\\""),
        b'\\' => sink.put(b"\\\\"),
        0x08 => sink.put(b"\\b"),
        b'\t' => sink.put(b"\\t"),
        b'\n' => sink.put(b"\\n"),
        0x0c => sink.put(b"\\f"),
        b'\r' => sink.put(b"\\r"),
        _ => sink.put(&[b'\\', b'u', b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]]),
    }
}

/// The text that `value` displays as.
///
/// # Errors
/// [`Error::Custom`] if its `Display` fails, where `to_string` would panic.
pub(super) fn displayed<T: Display + ?Sized>(value: &T) -> Result<String, Error> {
    let mut text = String::new();
    write!(text, "{value}").map_err(|_| Error::Custom("a `Display` implementation failed".to_owned()))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        write(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn control_characters_have_their_short_escape_or_lower_case_hex() {
        assert_eq!(written("\u{8}\t\n\u{c}\r"), r#""\b\t\n\f\r""#);
        assert_eq!(written("\u{0}\u{b}\u{f}\u{1f}"), r#""\u0000\u000b\u000f\u001f""#);
    }

    #[test]
    fn quote_and_backslash_are_escaped_and_the_solidus_is_not() {
        assert_eq!(written(r#"a"b\c/d"#), r#""a\"b\\c/d""#);
    }

    #[test]
    fn everything_from_space_up_is_written_as_it_is() {
        for text in
            ["", " ", "\u{7f}", "\u{80}", "\u{2028}\u{2029}", "€", "😂", "e\u{301}", "\u{feff}", "\u{fffd}"]
        {
            assert_eq!(written(text), format!("\"{text}\""));
        }
    }

    #[test]
    fn escapes_at_the_ends_and_in_a_row_keep_their_neighbours() {
        assert_eq!(written("\"ä\"\"ö\\"), r#""\"ä\"\"ö\\""#);
    }

    #[test]
    fn a_failing_display_is_an_error() {
        struct Broken;
        impl Display for Broken {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                Err(fmt::Error)
            }
        }

        assert!(matches!(displayed(&Broken), Err(Error::Custom(_))));
        assert_eq!(displayed("as it is").unwrap(), "as it is");
    }
}
