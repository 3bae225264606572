//! The part of RFC 9651 (Structured Field Values for HTTP) that a quoted key needs.
//!
//! Parameters are ignored, but only after they were parsed: a value that is not a valid Item is malformed as
//! a whole (section 4.2). So every bare item is recognised here; only the String is also read.

/// The text is not what section 4.2 of RFC 9651 accepts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

type Parsed<T> = Result<T, Malformed>;

/// Reads a field as an Item that is a String, ignoring its parameters (RFC 9651, section 4.2.3).
pub(super) fn string_item(field: &[u8]) -> Parsed<String> {
    let mut input = Input(field);
    input.skip_spaces();
    let text = input.string()?;
    input.parameters()?;
    input.skip_spaces();
    if input.0.is_empty() { Ok(text) } else { Err(Malformed) }
}

/// What is left to parse.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    fn next(&mut self) -> Parsed<u8> {
        let (&first, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(first)
    }

    fn expect(&mut self, wanted: u8) -> Parsed<()> {
        if self.next()? == wanted { Ok(()) } else { Err(Malformed) }
    }

    /// Consumes bytes while they are `wanted`, and counts them.
    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) -> usize {
        let count = self.0.iter().take_while(|&&byte| wanted(byte)).count();
        self.0 = self.0.split_at(count).1;
        count
    }

    fn skip_spaces(&mut self) {
        self.skip_while(|byte| byte == b' ');
    }

    /// Section 4.2.3.2.
    fn parameters(&mut self) -> Parsed<()> {
        while self.peek() == Some(b';') {
            self.next()?;
            self.skip_spaces();
            self.parameter_key()?;
            if self.peek() == Some(b'=') {
                self.next()?;
                self.bare_item()?;
            }
        }
        Ok(())
    }

    /// Section 4.2.3.3.
    fn parameter_key(&mut self) -> Parsed<()> {
        if !matches!(self.next()?, b'a'..=b'z' | b'*') {
            return Err(Malformed);
        }
        self.skip_while(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*'));
        Ok(())
    }

    /// Section 4.2.3.1.
    fn bare_item(&mut self) -> Parsed<()> {
        match self.peek().ok_or(Malformed)? {
            b'-' | b'0'..=b'9' => self.number().map(drop),
            b'"' => self.string().map(drop),
            b'*' | b'a'..=b'z' | b'A'..=b'Z' => {
                self.token();
                Ok(())
            }
            b':' => self.byte_sequence(),
            b'?' => self.boolean(),
            b'@' => self.date(),
            b'%' => self.display_string(),
            _ => Err(Malformed),
        }
    }

    /// Section 4.2.4.
    fn number(&mut self) -> Parsed<Number> {
        if self.peek() == Some(b'-') {
            self.next()?;
        }
        let whole = self.skip_while(|byte| byte.is_ascii_digit());
        if self.peek() != Some(b'.') {
            return if matches!(whole, 1..=15) { Ok(Number::Integer) } else { Err(Malformed) };
        }
        self.next()?;
        let fraction = self.skip_while(|byte| byte.is_ascii_digit());
        if matches!(whole, 1..=12) && matches!(fraction, 1..=3) {
            Ok(Number::Decimal)
        } else {
            Err(Malformed)
        }
    }

    /// Section 4.2.5.
    fn string(&mut self) -> Parsed<String> {
        self.expect(b'"')?;
        let mut text = String::new();
        loop {
            match self.next()? {
                b'"' => return Ok(text),
                b'\\' => match self.next()? {
                    escaped @ (b'"' | b'\\') => text.push(char::from(escaped)),
                    _ => return Err(Malformed),
                },
                printable @ b' '..=b'~' => text.push(char::from(printable)),
                _ => return Err(Malformed),
            }
        }
    }

    /// Section 4.2.6. The caller has seen that one begins here.
    fn token(&mut self) {
        self.skip_while(|byte| {
            // tchar of RFC 9110, section 5.6.2, and the two that a Token has beside it.
            byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
        });
    }

    /// Section 4.2.7. Missing padding is synthesised, so it is accepted.
    fn byte_sequence(&mut self) -> Parsed<()> {
        self.expect(b':')?;
        let digits = self.skip_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
        let padding = self.skip_while(|byte| byte == b'=');
        self.expect(b':')?;
        let padded = padding == 0 || (padding <= 2 && (digits + padding).is_multiple_of(4));
        if digits % 4 != 1 && padded { Ok(()) } else { Err(Malformed) }
    }

    /// Section 4.2.8.
    fn boolean(&mut self) -> Parsed<()> {
        self.expect(b'?')?;
        if matches!(self.next()?, b'0' | b'1') { Ok(()) } else { Err(Malformed) }
    }

    /// Section 4.2.9.
    fn date(&mut self) -> Parsed<()> {
        self.expect(b'@')?;
        match self.number()? {
            Number::Integer => Ok(()),
            Number::Decimal => Err(Malformed),
        }
    }

    /// Section 4.2.10.
    fn display_string(&mut self) -> Parsed<()> {
        self.expect(b'%')?;
        self.expect(b'"')?;
        let mut text = Vec::new();
        loop {
            match self.next()? {
                b'"' => break,
                b'%' => text.push(self.hex_digit()? << 4 | self.hex_digit()?),
                printable @ b' '..=b'~' => text.push(printable),
                _ => return Err(Malformed),
            }
        }
        std::str::from_utf8(&text).map(drop).map_err(|_| Malformed)
    }

    /// A digit of an escape in a Display String; only lower case is valid.
    fn hex_digit(&mut self) -> Parsed<u8> {
        match self.next()? {
            digit @ b'0'..=b'9' => Ok(digit - b'0'),
            digit @ b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(Malformed),
        }
    }
}

#[derive(PartialEq, Eq)]
enum Number {
    Integer,
    Decimal,
}

#[cfg(test)]
mod tests {
    use super::{Malformed, string_item};

    fn string(field: &str) -> Result<String, Malformed> {
        string_item(field.as_bytes())
    }

    #[test]
    fn a_string_is_read_with_its_escapes_resolved() {
        for (field, text) in [
            (r#""foo bar""#, "foo bar"),
            (r#""""#, ""),
            (r#""   ""#, "   "),
            (r#""foo \"bar\" \\ baz""#, r#"foo "bar" \ baz"#),
            (r#""a, b; c=1""#, "a, b; c=1"),
            (r#""%20:YQ==:""#, "%20:YQ==:"),
            (r#"  "foo"  "#, "foo"),
        ] {
            assert_eq!(string(field).as_deref(), Ok(text), "{field}");
        }
    }

    #[test]
    fn what_is_not_exactly_one_string_is_malformed() {
        for field in [
            "",
            " ",
            "foo",
            "'foo'",
            "42",
            ":YWJj:",
            "?1",
            "@1",
            "%\"foo\"",
            "(\"foo\")",
            "\"",
            "\"foo",
            "foo\"",
            "\"foo\\\"",
            "\"foo\\",
            "\"foo \\,\"",
            "\"foo\\u0041\"",
            "\"foo\" \"bar\"",
            "\"foo\"bar",
            "\"foo\", \"bar\"",
            "\"foo\",",
            "\"foo\ttab\"",
            "\"foo\nbar\"",
            "\"foo\u{7f}\"",
            "\"füü\"",
            "\"foo\"\t",
            "\t\"foo\"",
        ] {
            assert_eq!(string(field), Err(Malformed), "{field:?}");
        }
    }

    #[test]
    fn valid_parameters_are_ignored() {
        for parameters in [
            ";a",
            ";a;b;a",
            ";  a",
            ";*",
            ";*a-b_c.d*9",
            ";a=1",
            ";a=-0",
            ";a=007",
            ";a=123456789012345",
            ";a=-123456789012345",
            ";a=1.5",
            ";a=-123456789012.123",
            r#";a="b\"c";d"#,
            ";a=*",
            ";a=b:/!#$%&'*+-.^_`|~9",
            ";a=::",
            ";a=:aGVsbG8=:",
            ";a=:aGVsbG8:",
            ";a=:YQ==:",
            ";a=:YQ:",
            ";a=:+/+/:",
            ";a=?0;b=?1",
            ";a=@1659578233",
            ";a=@-1",
            ";a=%\"f%c3%bc%c3%bc %22\"",
            ";a=%\"\"",
            ";a  ",
        ] {
            let field = format!("\"k\"{parameters}");
            assert_eq!(string(&field).as_deref(), Ok("k"), "{field}");
        }
    }

    #[test]
    fn an_invalid_parameter_makes_the_whole_value_malformed() {
        for parameters in [
            ";",
            "; ",
            ";;a",
            " ;a",
            ";a ;b",
            ";\ta",
            ";A",
            ";aB",
            ";1",
            ";-a",
            ";\"a\"",
            ";a=",
            ";a= 1",
            ";a =1",
            ";a=1,",
            ";a=-",
            ";a=--1",
            ";a=4-2",
            ";a=1.",
            ";a=.5",
            ";a=-.5",
            ";a=1..5",
            ";a=1.5.4",
            ";a=1.2345",
            ";a=1234567890123.0",
            ";a=1234567890123456",
            ";a=\"b",
            ";a=\"b\\c\"",
            ";a='b'",
            ";a=(b c)",
            ";a={b}",
            ";a=:aGVsbG8=",
            ";a=:aGVsb G8=:",
            ";a=:aGVsbG!8=:",
            ";a=:_-Ah:",
            ";a=:a:",
            ";a=:a===:",
            ";a=:=:",
            ";a=:YWJj=:",
            ";a=:YQ=:",
            ";a=:YQ==YQ==:",
            ";a=?2",
            ";a=?",
            ";a=?10",
            ";a=@",
            ";a=@1.5",
            ";a=@x",
            ";a=%foo",
            ";a=%\"foo",
            ";a=%\"%C3%BC\"",
            ";a=%\"%c3\"",
            ";a=%\"%c3%28\"",
            ";a=%\"%a\"",
            ";a=%\"\t\"",
        ] {
            let field = format!("\"k\"{parameters}");
            assert_eq!(string(&field), Err(Malformed), "{field}");
        }
    }

    #[test]
    fn every_byte_inside_a_string_is_itself_or_malformed() {
        for byte in 0..=u8::MAX {
            let plain = string_item(&[b'"', byte, b'"']);
            let escaped = string_item(&[b'"', b'\\', byte, b'"']);

            match byte {
                b'"' | b'\\' => {
                    assert_eq!(plain, Err(Malformed), "{byte:#04x}");
                    assert_eq!(escaped, Ok(char::from(byte).to_string()), "{byte:#04x}");
                }
                b' '..=b'~' => {
                    assert_eq!(plain, Ok(char::from(byte).to_string()), "{byte:#04x}");
                    assert_eq!(escaped, Err(Malformed), "{byte:#04x}");
                }
                _ => {
                    assert_eq!(plain, Err(Malformed), "{byte:#04x}");
                    assert_eq!(escaped, Err(Malformed), "{byte:#04x}");
                }
            }
        }
    }
}
