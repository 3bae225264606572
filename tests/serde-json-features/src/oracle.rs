//! The canonical form against `serde_json_canonicalizer`, for values on which both must agree: integers that
//! a double holds, finite doubles, unique names.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use crate::text_of;

/// A JSON value that keeps its floats as floats, which `Value` does not under `arbitrary_precision`.
enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::Array(elements) => {
                let mut array = serializer.serialize_seq(Some(elements.len()))?;
                elements.iter().try_for_each(|element| array.serialize_element(element))?;
                array.end()
            }
            Self::Object(members) => {
                let mut object = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(name, value)| object.serialize_entry(name, value))?;
                object.end()
            }
        }
    }
}

/// `SplitMix64` (Steele, Lea and Flood, 2014): the same values in every run.
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn value(&mut self, depth: u32) -> Json {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 => Json::Null,
            1 => Json::Bool(self.below(2) == 0),
            2 => Json::Integer(self.integer()),
            3 | 4 => Json::Float(self.float()),
            5 => Json::Text(self.text()),
            6 | 7 => Json::Array((0..self.below(5)).map(|_| self.value(depth - 1)).collect()),
            _ => Json::Object(self.members(depth)),
        }
    }

    fn members(&mut self, depth: u32) -> Vec<(String, Json)> {
        let mut members: Vec<(String, Json)> = Vec::new();
        for _ in 0..self.below(7) {
            let name = self.text();
            if members.iter().all(|(other, _)| *other != name) {
                members.push((name, self.value(depth - 1)));
            }
        }
        members
    }

    /// An integer of up to 53 bits, of any length.
    fn integer(&mut self) -> i64 {
        let magnitude = i64::try_from(self.next() >> (11 + self.below(53))).expect("at most 53 bits");
        if self.below(2) == 0 { magnitude } else { -magnitude }
    }

    fn float(&mut self) -> f64 {
        let float = match self.below(3) {
            0 => f64::from_bits(self.next()),
            // Short decimals, as people write them, and across the turning points of the notation.
            1 => format!("{}e{}", self.below(100_000), self.below(50).cast_signed() - 25)
                .parse()
                .expect("a float"),
            // Eighths, so that the shortest form is often a tie between two.
            _ => format!("{}.{:03}", self.integer(), self.below(8) * 125).parse().expect("a float"),
        };
        if float.is_finite() { float } else { 0.5 }
    }

    /// A text of characters from all over, those that are escaped or sorted oddly more often than others.
    fn text(&mut self) -> String {
        (0..self.below(6))
            .map(|_| match self.below(6) {
                0 => char::from(b'a' + u8::try_from(self.below(3)).expect("small")),
                1 => char::from(u8::try_from(self.below(0x20)).expect("small")),
                2 => ['"', '\\', '/', '\u{7f}', '\u{2028}'][usize::try_from(self.below(5)).expect("small")],
                3 => ['\u{fb33}', '\u{ffff}', '\u{1f602}', '\u{d7ff}', '\u{e000}']
                    [usize::try_from(self.below(5)).expect("small")],
                4 => char::from(u8::try_from(self.below(0x100)).expect("small")),
                _ => u32::try_from(self.below(0x11_0000)).ok().and_then(char::from_u32).unwrap_or('\u{fffd}'),
            })
            .collect()
    }
}

#[test]
fn both_write_the_same_text() {
    let mut generator = Generator(0x1de0_90fe);
    for _ in 0..5_000 {
        let value = generator.value(4);

        let expected = serde_json_canonicalizer::to_string(&value).unwrap();
        assert_eq!(text_of(&value), expected);

        // And what is canonical already stays as it is, its numbers now arriving as text.
        let again: Value = serde_json::from_str(&expected).unwrap();
        assert_eq!(text_of(&again), expected);
    }
}

#[test]
fn a_float_in_a_number_is_written_as_a_float() {
    // serde_json writes the number's text itself, by a shortest form of its own.
    let mut generator = Generator(0xf10a7);
    for _ in 0..20_000 {
        let float = generator.float();

        assert_eq!(text_of(&serde_json::Number::from_f64(float)), text_of(&float));
    }
}

#[test]
fn ours_keeps_apart_what_the_oracle_merges() {
    let amounts = [9_007_199_254_740_992_u64, 9_007_199_254_740_993];

    let [one, other] = amounts.map(|amount| serde_json_canonicalizer::to_string(&amount).unwrap());
    assert_eq!(one, other);
    let [one, other] = amounts.map(|amount| text_of(&amount));
    assert_ne!(one, other);
}
