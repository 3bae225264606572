//! Values of every part of serde's data model, and of what its derives make of it. All floats are finite: for others
//! `serde_json` writes `null`, and is no oracle.

use std::collections::BTreeMap;
use std::fmt;

use arbitrary::{Arbitrary, Unstructured};
use serde::{Serialize, Serializer};

/// One value; the variants are named for what a serializer is asked for.
#[derive(Arbitrary, Debug, Serialize)]
pub(crate) enum Animal {
    Unit,
    Bool(bool),
    Signed(i8, i16, i32, i64, i128),
    Unsigned(u8, u16, u32, u64, u128),
    F32(Finite<f32>),
    F64(Finite<f64>),
    Char(char),
    Text(String),
    Bytes(Bytes),
    Displayed(Displayed),
    Nothing(()),
    UnitStruct(UnitStruct),
    Option(Option<Box<Animal>>),
    Newtype(Newtype),
    Sequence(Vec<Animal>),
    Tuple((u8, Box<Animal>), [i16; 3]),
    TupleStruct(TupleStruct),
    Struct(Struct),
    StructVariant {
        #[serde(rename = "z \"first\"")]
        last: Option<Finite<f32>>,
        first: Box<Animal>,
    },
    #[serde(rename = "\u{1f602}\n")]
    Renamed(Box<Animal>),
    TextKeys(BTreeMap<String, Animal>),
    NumberKeys(BTreeMap<i64, u8>, BTreeMap<u128, u8>),
    OtherKeys(BTreeMap<Key, i8>),
    Flattened(Flattened),
    Tagged(Vec<Tagged>),
    Adjacent(Vec<Adjacent>),
    Untagged(Vec<Untagged>),
}

#[derive(Debug, Serialize)]
pub(crate) struct Finite<F>(F);

impl<'a, F: Arbitrary<'a> + Copy + Default + Into<f64>> Arbitrary<'a> for Finite<F> {
    fn arbitrary(from: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let float = F::arbitrary(from)?;
        Ok(Self(if float.into().is_finite() { float } else { F::default() }))
    }
}

/// As `serde_bytes` writes a buffer.
#[derive(Arbitrary, Debug)]
pub(crate) struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

/// As addresses and times write themselves.
#[derive(Arbitrary, Debug)]
pub(crate) struct Displayed(String, char);

impl fmt::Display for Displayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1)
    }
}

impl Serialize for Displayed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Arbitrary, Debug, Serialize)]
pub(crate) struct UnitStruct;

#[derive(Arbitrary, Debug, Serialize)]
pub(crate) struct Newtype(Box<Animal>);

#[derive(Arbitrary, Debug, Serialize)]
pub(crate) struct TupleStruct(Finite<f64>, Box<Animal>);

#[derive(Arbitrary, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Struct {
    zebra_crossing: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    added_later: Option<i128>,
    #[serde(skip)]
    #[expect(dead_code, reason = "never written, which is the point")]
    never: u8,
    #[serde(rename = "\u{fb33}")]
    after_the_surrogates: Option<char>,
    #[serde(rename = "\u{1f602}")]
    before_them: Vec<u64>,
}

/// Keys of a map that are no strings; some are written alike, and the last cannot be written at all.
#[derive(Arbitrary, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub(crate) enum Key {
    Bool(bool),
    Char(char),
    Signed(i16),
    Unsigned(Option<u64>),
    Unit(Word),
    Text(String),
    List(Vec<u8>),
}

#[derive(Arbitrary, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Word {
    True,
    OneTwo,
}

#[derive(Arbitrary, Debug, Serialize)]
pub(crate) struct Flattened {
    middle: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, i64>,
}

#[derive(Arbitrary, Debug, Serialize)]
#[serde(tag = "type")]
pub(crate) enum Tagged {
    Unit,
    Newtype(Struct),
    Struct { amount: Finite<f64> },
}

#[derive(Arbitrary, Debug, Serialize)]
#[serde(tag = "t", content = "c")]
pub(crate) enum Adjacent {
    Unit,
    Newtype(Finite<f32>),
    Tuple(i8, u128),
    Struct { amount: Finite<f64> },
}

#[derive(Arbitrary, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Untagged {
    Unit,
    Newtype(Finite<f32>),
    Tuple(i8, i128),
    Struct { amount: Finite<f64> },
}
