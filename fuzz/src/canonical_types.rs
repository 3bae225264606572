//! The canonical form of values of derived types: that of the JSON which `serde_json` writes for them, and none where
//! it writes none.

use arbitrary::{Arbitrary, Unstructured};
use serde::Serialize;
use serde_json::Value;

use crate::canonical::{self, Error};
use crate::zoo::Animal;

/// Checks the value that `data` stands for.
///
/// # Panics
/// If a promise of the canonical form does not hold.
pub fn check(data: &[u8]) {
    let Ok(animal) = Animal::arbitrary_take_rest(Unstructured::new(data)) else { return };
    let json = serde_json::to_string(&animal);

    match (of_value(&animal), &json) {
        (Ok(canonical), Ok(json)) => {
            assert_eq!(of_text(json).ok(), layout_of_text(canonical), "{json}");
        }
        (Err(Error::DuplicateMember(name)), Ok(json)) => {
            let twin = of_text(json).expect_err("two members of one name");
            assert!(matches!(&twin, Error::DuplicateMember(twin) if *twin == name), "{twin} in {json}");
        }
        // Of what serde_json's parser accepts nothing is too deep.
        (Err(Error::TooDeep), Ok(json)) => {
            assert!(serde_json::from_str::<Value>(json).is_err(), "serde_json can read {json}");
        }
        (Err(_), Err(_)) => {}
        (canonical, json) => panic!("{animal:?}: {canonical:?} for {json:?}"),
    }
    of_value(&(animal, f64::NAN)).expect_err("what holds a NaN has no canonical form");
}

/// The canonical text of a value.
fn of_value<T: Serialize>(value: &T) -> Result<String, Error> {
    let mut canonical = Vec::new();
    canonical::write(value, &mut canonical)?;
    Ok(String::from_utf8(canonical).expect("canonical text is UTF-8"))
}

/// The canonical text of a JSON text.
fn of_text(text: &str) -> Result<String, Error> {
    let mut canonical = Vec::new();
    canonical::write_text(text, &mut canonical)?;
    Ok(String::from_utf8(canonical).expect("canonical text is UTF-8"))
}

/// Canonical text of a value as it is of the value's JSON: an integer of more than 21 digits is written in full by its
/// type, and with an exponent where it arrived as text.
fn layout_of_text(canonical: String) -> Option<String> {
    let is_long = canonical.split(|letter: char| !letter.is_ascii_digit()).any(|digits| digits.len() > 21);
    if is_long { of_text(&canonical).ok() } else { Some(canonical) }
}
