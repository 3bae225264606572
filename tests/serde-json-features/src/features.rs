//! What the features change in `serde_json`, and what they must not change in the canonical form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Number, Value, json};

use crate::canonical::{self, Error};
use crate::text_of;

fn value(json: &str) -> Value {
    serde_json::from_str(json).expect("the test's JSON is JSON")
}

#[derive(Serialize, Deserialize)]
struct Carrying {
    item: String,
    raw: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
struct Flattening {
    item: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[test]
fn the_features_are_on() {
    // Without them: out of range, and rounded; sorted; no such type.
    assert_eq!(value("1e400").to_string(), "1e+400");
    assert_eq!(value("0.10000000000000000000000001").to_string(), "0.10000000000000000000000001");
    assert_eq!(value(r#"{"b":1,"a":2}"#).to_string(), r#"{"b":1,"a":2}"#);
    assert_eq!(RawValue::NULL.get(), "null");
}

// Cases: B-27
#[test]
fn numbers_of_any_size_are_exact() {
    let thirty_three = "123456789012345678901234567890123";

    assert_eq!(text_of(&value(thirty_three)), "1.23456789012345678901234567890123e+32");
    assert_ne!(text_of(&value(thirty_three)), text_of(&value("123456789012345678901234567890124")));
    assert_eq!(text_of(&value("18446744073709551616.5")), "18446744073709551616.5");
    assert_eq!(text_of(&value("[1E400,-1e-400]")), "[1e+400,-1e-400]");
}

#[test]
fn typed_numbers_are_written_by_their_types_as_ever() {
    assert_eq!(
        text_of(&serde_json::from_str::<u128>(&u128::MAX.to_string()).unwrap()),
        u128::MAX.to_string()
    );
    assert_eq!(text_of(&serde_json::from_str::<f64>("1e2").unwrap()), "100");
    assert_eq!(text_of(&serde_json::from_str::<BTreeMap<i64, u8>>(r#"{"-5":1}"#).unwrap()), r#"{"-5":1}"#);
}

#[test]
fn numbers_made_in_the_program_are_written_as_parsed_ones() {
    assert_eq!(text_of(&json!([1, -1, 1.0, 0.1, -0.0, 1e21, u64::MAX])), {
        text_of(&value("[1,-1,1,0.1,0,1e21,18446744073709551615]"))
    });
    assert_eq!(text_of(&Number::from_f64(5e-324)), "5e-324");
    assert_eq!(text_of(&Number::from_u128(u128::from(u64::MAX) + 1)), "18446744073709551616");
}

// Cases: B-27
#[test]
fn the_order_of_insertion_means_nothing() {
    assert_eq!(text_of(&value(r#"{"b":{"d":1,"c":2},"a":3}"#)), r#"{"a":3,"b":{"c":2,"d":1}}"#);
}

// Cases: B-27
#[test]
fn a_raw_value_is_the_value_it_holds() {
    let body = r#"{"raw": { "b" : [1.0, "\u0074"], "a": 123456789012345678901234567890123 }, "item":"tea"}"#;

    let carrying: Carrying = serde_json::from_str(body).unwrap();

    assert_eq!(text_of(&carrying), text_of(&value(body)));
    assert_eq!(
        text_of(&carrying),
        r#"{"item":"tea","raw":{"a":1.23456789012345678901234567890123e+32,"b":[1,"t"]}}"#
    );
}

#[test]
fn a_raw_value_anywhere_is_unwrapped() {
    let raw = to_raw_value(&json!({"b": 1, "a": [null]})).unwrap();
    let borrowed: &RawValue = &raw;

    assert_eq!(text_of(&borrowed), r#"{"a":[null],"b":1}"#);
    assert_eq!(text_of(&[Some(borrowed)]), r#"[{"a":[null],"b":1}]"#);
    assert_eq!(text_of(&BTreeMap::from([("k", borrowed)])), r#"{"k":{"a":[null],"b":1}}"#);
}

#[test]
fn what_serde_json_lets_pass_in_a_raw_value_is_refused() {
    let refusal = |json: &str| {
        let raw: Box<RawValue> = serde_json::from_str(json).expect("serde_json lets it pass");
        canonical::write(&raw, &mut Vec::new()).unwrap_err()
    };

    assert!(matches!(refusal(r#"{"a":1,"a":2}"#), Error::DuplicateMember(name) if name == "a"));
    assert!(matches!(refusal(r#""\ud800""#), Error::NotJson { .. }));
    assert!(matches!(refusal(&("[".repeat(10_000) + &"]".repeat(10_000))), Error::TooDeep));
}

#[test]
fn flattened_values_keep_their_exact_numbers() {
    let body = r#"{"z": 0.10000000000000000000000001, "item": "tea", "a": 1.0}"#;

    let flattening: Flattening = serde_json::from_str(body).unwrap();

    assert_eq!(text_of(&flattening), r#"{"a":1,"item":"tea","z":0.10000000000000000000000001}"#);
}
