//! Each part of serde's data model, as `serde_json` would write it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::text_of;

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Newtype(u8);

#[derive(Serialize)]
struct Tuple(u8, &'static str);

#[derive(Serialize)]
struct Struct {
    second: u8,
    first: Option<u8>,
}

#[derive(Serialize, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Enum {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { second: u8, first: u8 },
}

struct Bytes(&'static [u8]);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

struct Displayed(&'static str);

impl fmt::Display for Displayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for Displayed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A map of any keys and values, in this order.
struct Entries<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Entries<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[test]
fn scalars_are_written_plainly() {
    assert_eq!(text_of(&true), "true");
    assert_eq!(text_of(&false), "false");
    assert_eq!(text_of(&'€'), r#""€""#);
    assert_eq!(text_of("a\"b"), r#""a\"b""#);
    assert_eq!(text_of(&()), "null");
    assert_eq!(text_of(&Displayed("a\\b")), r#""a\\b""#);
}

#[test]
fn integers_are_exact_at_any_width() {
    assert_eq!(text_of(&(i8::MIN, i16::MIN, i32::MIN)), "[-128,-32768,-2147483648]");
    assert_eq!(text_of(&(u8::MAX, u16::MAX, u32::MAX)), "[255,65535,4294967295]");
    assert_eq!(text_of(&(i64::MIN, u64::MAX)), "[-9223372036854775808,18446744073709551615]");
    assert_eq!(text_of(&u128::MAX), "340282366920938463463374607431768211455");
    assert_eq!(text_of(&i128::MIN), "-170141183460469231731687303715884105728");
    assert_eq!(text_of(&9_007_199_254_740_993_u64), "9007199254740993");
}

#[test]
fn options_and_newtypes_are_what_they_hold() {
    assert_eq!(text_of(&Some(Some(Newtype(7)))), "7");
    assert_eq!(text_of(&None::<u8>), "null");
    assert_eq!(text_of(&Unit), "null");
}

#[test]
fn sequences_keep_their_order() {
    assert_eq!(text_of(&[2, 1, 3]), "[2,1,3]");
    assert_eq!(text_of(&Vec::<u8>::new()), "[]");
    assert_eq!(text_of(&Tuple(1, "b")), r#"[1,"b"]"#);
    assert_eq!(text_of(&[[1, 2], [3, 4]]), "[[1,2],[3,4]]");
}

#[test]
fn bytes_are_an_array_of_numbers() {
    assert_eq!(text_of(&Bytes(&[0, 127, 255])), "[0,127,255]");
    assert_eq!(text_of(&Bytes(&[])), "[]");
}

#[test]
fn members_are_sorted_whatever_the_declared_order() {
    assert_eq!(text_of(&Struct { second: 2, first: None }), r#"{"first":null,"second":2}"#);
    assert_eq!(text_of(&HashMap::<u8, u8>::new()), "{}");
    assert_eq!(
        text_of(&Entries(vec![("b", Entries(vec![("d", 1), ("c", 2)])), ("a", Entries(vec![]))])),
        r#"{"a":{},"b":{"c":2,"d":1}}"#
    );
}

#[test]
fn variants_are_named_by_an_object_around_them() {
    assert_eq!(text_of(&Enum::Unit), r#""Unit""#);
    assert_eq!(text_of(&Enum::Newtype(1)), r#"{"Newtype":1}"#);
    assert_eq!(text_of(&Enum::Tuple(2, 1)), r#"{"Tuple":[2,1]}"#);
    assert_eq!(text_of(&Enum::Struct { second: 2, first: 1 }), r#"{"Struct":{"first":1,"second":2}}"#);
    assert_eq!(text_of(&[Enum::Newtype(1), Enum::Unit]), r#"[{"Newtype":1},"Unit"]"#);
}

#[test]
fn a_renamed_variant_is_escaped_like_any_name() {
    #[derive(Serialize)]
    enum Quoted {
        #[serde(rename = "a\"b")]
        Newtype(u8),
    }

    assert_eq!(text_of(&Quoted::Newtype(1)), r#"{"a\"b":1}"#);
}

#[test]
fn map_keys_that_are_no_strings_become_strings() {
    assert_eq!(text_of(&BTreeMap::from([(10, 'a'), (9, 'b'), (-1, 'c')])), r#"{"-1":"c","10":"a","9":"b"}"#);
    assert_eq!(
        text_of(&BTreeMap::from([(u128::MAX, 1)])),
        r#"{"340282366920938463463374607431768211455":1}"#
    );
    assert_eq!(text_of(&BTreeMap::from([(true, 1), (false, 0)])), r#"{"false":0,"true":1}"#);
    assert_eq!(text_of(&BTreeMap::from([('é', 1)])), r#"{"é":1}"#);
    assert_eq!(text_of(&BTreeMap::from([(Enum::Unit, 1)])), r#"{"Unit":1}"#);
    assert_eq!(text_of(&Entries(vec![(Some(Newtype(3)), 1)])), r#"{"3":1}"#);
    assert_eq!(text_of(&Entries(vec![(Displayed("shown"), 1)])), r#"{"shown":1}"#);
    assert_eq!(text_of(&Entries(vec![(1.5, 1), (1e21, 2)])), r#"{"1.5":1,"1e+21":2}"#);
}

#[test]
fn flattened_fields_stand_beside_the_others() {
    #[derive(Serialize)]
    struct Outer {
        middle: u8,
        #[serde(flatten)]
        rest: BTreeMap<&'static str, u8>,
    }

    let outer = Outer { middle: 2, rest: BTreeMap::from([("zuletzt", 3), ("anfang", 1)]) };

    assert_eq!(text_of(&outer), r#"{"anfang":1,"middle":2,"zuletzt":3}"#);
}

#[test]
fn a_skipped_field_is_not_there() {
    #[derive(Serialize)]
    struct Skipping {
        kept: u8,
        #[serde(skip_serializing)]
        #[expect(dead_code, reason = "never written, which is the point")]
        dropped: u8,
        #[serde(skip_serializing_if = "Option::is_none")]
        added_later: Option<u8>,
    }

    assert_eq!(text_of(&Skipping { kept: 1, dropped: 2, added_later: None }), r#"{"kept":1}"#);
}

#[test]
fn a_serializer_that_is_asked_says_that_it_is_for_people() {
    // Addresses, UUIDs and times write a text then, as they do in JSON.
    let address: std::net::IpAddr = [127, 0, 0, 1].into();

    assert_eq!(text_of(&address), r#""127.0.0.1""#);
}
