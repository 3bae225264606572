//! JSON text to canonical text, for values that arrive as text.
//!
//! Not `serde_json`'s parser: that one rounds numbers, and what it keeps of duplicate members depends on its
//! features.

use super::array::Array;
use super::object::Object;
use super::serializer::Serializer;
use super::{Error, decimal, string};

/// Writes the canonical form of `text`, one JSON value (RFC 8259).
///
/// # Errors
/// [`Error::NotJson`], also for a lone surrogate, which JSON allows and RFC 8785 does not;
/// [`Error::DuplicateMember`], [`Error::TooDeep`] and [`Error::NotANumber`] as for any value.
pub(super) fn write(text: &str, within: Serializer<'_>) -> Result<(), Error> {
    let mut reader = Reader { text, at: 0 };
    reader.value(within)?;
    reader.skip_space();
    if reader.at == text.len() { Ok(()) } else { Err(reader.not_json()) }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, within: Serializer<'_>) -> Result<(), Error> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(within),
            Some(b'[') => self.array(within),
            Some(b'"') => {
                let text = self.string()?;
                string::write(&text, within.into_parts().0);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => self.number(within),
            _ => self.literal(within),
        }
    }

    fn array(&mut self, within: Serializer<'_>) -> Result<(), Error> {
        self.expect(b'[')?;
        let mut array = Array::open(within, "]");
        if !self.skip_if(b']') {
            loop {
                array.element(|within| self.value(within))?;
                if self.skip_if(b']') {
                    break;
                }
                self.expect(b',')?;
            }
        }
        array.close()
    }

    fn object(&mut self, within: Serializer<'_>) -> Result<(), Error> {
        self.expect(b'{')?;
        let mut object = Object::open(within, "}");
        if !self.skip_if(b'}') {
            loop {
                self.skip_space();
                let name = self.string()?;
                self.expect(b':')?;
                object.member(name, |within| self.value(within))?;
                if self.skip_if(b'}') {
                    break;
                }
                self.expect(b',')?;
            }
        }
        object.close()
    }

    fn number(&mut self, within: Serializer<'_>) -> Result<(), Error> {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let text = decimal::canonical(&rest[..end])?;
        self.at += end;
        within.into_parts().0.put(text.as_bytes());
        Ok(())
    }

    fn literal(&mut self, within: Serializer<'_>) -> Result<(), Error> {
        let rest = self.rest();
        let literal = ["null", "true", "false"]
            .into_iter()
            .find(|literal| rest.starts_with(literal))
            .ok_or_else(|| self.not_json())?;
        self.at += literal.len();
        within.into_parts().0.put(literal.as_bytes());
        Ok(())
    }

    fn string(&mut self) -> Result<String, Error> {
        if self.peek() != Some(b'"') {
            return Err(self.not_json());
        }
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.rest();
            // The three that end a plain run are ASCII, so the run ends between characters.
            let run = rest
                .find(|c: char| c == '"' || c == '\\' || c < ' ')
                .ok_or(Error::NotJson { at: self.text.len() })?;
            text.push_str(&rest[..run]);
            self.at += run;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(self.not_json()),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Error> {
        self.at += 1;
        let plain = match self.peek() {
            Some(b'u') => return self.code_point(),
            Some(b'b') => '\u{8}',
            Some(b't') => '\t',
            Some(b'n') => '\n',
            Some(b'f') => '\u{c}',
            Some(b'r') => '\r',
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            _ => return Err(self.not_json()),
        };
        self.at += 1;
        Ok(plain)
    }

    /// One `\uXXXX`, or two that make a surrogate pair; `at` is on the `u`.
    fn code_point(&mut self) -> Result<char, Error> {
        let start = self.at;
        let first = self.code_unit()?;
        let second = match first {
            0xd800..=0xdbff if self.rest().starts_with("\\u") => {
                self.at += 1;
                Some(self.code_unit()?)
            }
            _ => None,
        };
        let mut decoded = char::decode_utf16([first].into_iter().chain(second));
        match (decoded.next(), decoded.next()) {
            (Some(Ok(character)), None) => Ok(character),
            _ => Err(Error::NotJson { at: start }),
        }
    }

    fn code_unit(&mut self) -> Result<u16, Error> {
        let digits = self.text.get(self.at + 1..self.at + 5).ok_or_else(|| self.not_json())?;
        // Checked apart, because `from_str_radix` takes a sign as well.
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.not_json());
        }
        let unit = u16::from_str_radix(digits, 16).map_err(|_| self.not_json())?;
        self.at += 5;
        Ok(unit)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn skip_if(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.skip_if(byte) { Ok(()) } else { Err(self.not_json()) }
    }

    fn not_json(&self) -> Error {
        Error::NotJson { at: self.at }
    }
}
