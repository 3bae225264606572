//! A JSON object written member by member. The bodies of problems have a handful of members, and the library asks
//! nobody for a JSON crate of its own.

use std::fmt::Write as _;

/// An object that is being written.
pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Self {
        let mut text = String::with_capacity(384);
        text.push('{');
        Self(text)
    }

    /// Adds a member whose value is the concatenated `parts`.
    pub(super) fn text(&mut self, name: &str, parts: &[&str]) {
        self.name(name);
        push_string(&mut self.0, parts);
    }

    pub(super) fn number(&mut self, name: &str, number: impl Into<usize>) {
        self.name(name);
        self.0.push_str(&number.into().to_string());
    }

    pub(super) fn object(&mut self, name: &str, object: Self) {
        self.name(name);
        self.0.push_str(&object.finish());
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }

    /// Names are the library's own and need no escapes.
    fn name(&mut self, name: &str) {
        if !self.0.ends_with('{') {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
    }
}

/// Appends the concatenated `parts` as one JSON string (RFC 8259, section 7).
fn push_string(json: &mut String, parts: &[&str]) {
    json.push('"');
    for character in parts.iter().flat_map(|part| part.chars()) {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\0'..='\u{1f}' => {
                // Writing to a `String` cannot fail.
                let _ = write!(json, "\\u{:04x}", u32::from(character));
            }
            _ => json.push(character),
        }
    }
    json.push('"');
}
