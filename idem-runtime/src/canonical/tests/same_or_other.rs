//! Which requests are the same: the cases of canonicalisation in the protocol, by their numbers there.

use std::collections::{BTreeMap, HashMap};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{text_of, text_of_json};

/// Whether two bodies mean the same to a handler that takes a `T`.
fn are_same<T: DeserializeOwned + Serialize>(first: &str, second: &str) -> bool {
    let text = |body| text_of(&serde_json::from_str::<T>(body).expect("the test's body fits its type"));
    text(first) == text(second)
}

#[derive(Serialize, Deserialize)]
struct Line {
    item: String,
    #[serde(default = "one")]
    qty: u32,
    note: Option<String>,
}

fn one() -> u32 {
    1
}

#[derive(Serialize, Deserialize)]
struct Field<T> {
    #[serde(alias = "amount", alias = "qty", alias = "a", alias = "p", alias = "s")]
    x: T,
}

#[test]
fn b_01_and_b_02_the_order_of_members_and_whitespace_mean_nothing() {
    let body = r#"{"item":"tea","qty":1}"#;
    for other in [r#"{"qty":1,"item":"tea"}"#, "{ \"item\" : \"tea\",\n\t\"qty\" : 1 }"] {
        assert!(are_same::<Line>(body, other));
        assert!(are_same::<Value>(body, other));
    }
}

#[test]
fn b_03_a_whole_number_is_the_same_in_any_spelling() {
    for other in [r#"{"qty":1.0}"#, r#"{"qty":1e0}"#, r#"{"qty":10E-1}"#] {
        assert!(are_same::<Field<f64>>(r#"{"qty":1}"#, other));
        assert!(are_same::<Value>(r#"{"qty":1}"#, other));
    }
}

#[test]
fn b_04_amounts_beyond_two_to_the_53_are_told_apart() {
    let (one, other) = (r#"{"amount":9007199254740992}"#, r#"{"amount":9007199254740993}"#);

    assert!(!are_same::<Field<u64>>(one, other));
    assert!(!are_same::<Field<i64>>(one, other));
    assert!(!are_same::<Field<u128>>(one, other));
    assert!(!are_same::<Field<i128>>(one, other));
    assert!(!are_same::<Value>(one, other));
}

#[test]
fn b_05_zero_has_no_sign() {
    for other in [r#"{"x":-0.0}"#, r#"{"x":0}"#, r#"{"x":-0}"#] {
        assert!(are_same::<Field<f64>>(r#"{"x":0.0}"#, other));
        assert!(are_same::<Value>(r#"{"x":0.0}"#, other));
    }
}

#[test]
fn b_06_and_b_07_escapes_mean_what_they_stand_for() {
    assert!(are_same::<Line>(r#"{"item":"tea"}"#, r#"{"item":"\u0074ea"}"#));
    assert!(are_same::<Value>(r#"{"item":"tea"}"#, r#"{"item":"\u0074ea"}"#));
    assert!(are_same::<Field<String>>(r#"{"p":"a/b"}"#, r#"{"p":"a\/b"}"#));
    assert!(are_same::<Value>(r#"{"p":"a/b"}"#, r#"{"p":"a\/b"}"#));
}

#[test]
fn b_08_texts_are_not_normalised() {
    let (composed, decomposed) = ("{\"s\":\"\u{c5}\"}", r#"{"s":"A\u030a"}"#);

    assert!(!are_same::<Field<String>>(composed, decomposed));
    assert!(!are_same::<Value>(composed, decomposed));
}

#[test]
fn b_09_the_order_of_an_array_counts() {
    assert!(!are_same::<Vec<u8>>("[1,2]", "[2,1]"));
    assert!(!are_same::<Value>("[1,2]", "[2,1]"));
}

#[test]
fn b_10_to_b_12_what_deserialises_alike_is_the_same_and_a_value_compares_everything() {
    let body = r#"{"item":"tea"}"#;
    for other in
        [r#"{"item":"tea","unknown":"x"}"#, r#"{"item":"tea","note":null}"#, r#"{"item":"tea","qty":1}"#]
    {
        assert!(are_same::<Line>(body, other));
        assert!(!are_same::<Value>(body, other));
    }
    assert!(!are_same::<Line>(body, r#"{"item":"tea","note":"x"}"#));
    assert!(!are_same::<Line>(body, r#"{"item":"tea","qty":2}"#));
}

#[test]
fn b_13_a_number_is_not_its_text() {
    assert!(!are_same::<Value>(r#"{"a":1}"#, r#"{"a":"1"}"#));
    assert!(!are_same::<Value>(r#"{"a":null}"#, r#"{"a":"null"}"#));
    assert!(!are_same::<Value>(r#"{"a":true}"#, r#"{"a":"true"}"#));
}

#[test]
fn b_14_members_are_sorted_at_every_depth() {
    let reversed = r#"{"a":{"x":[{"p":2,"q":1}],"y":1}}"#;

    assert!(are_same::<Value>(r#"{"a":{"y":1,"x":[{"q":1,"p":2}]}}"#, reversed));
}

#[test]
fn b_15_names_beyond_ascii_are_sorted_too() {
    let (one, other) =
        (r#"{"\u20ac":1,"\ufb33":2,"\ud83d\ude02":3}"#, r#"{"\ufb33":2,"\ud83d\ude02":3,"\u20ac":1}"#);

    assert!(are_same::<HashMap<String, u8>>(one, other));
    assert!(are_same::<Value>(one, other));
    assert_eq!(text_of_json(one), "{\"\u{20ac}\":1,\"\u{1f602}\":3,\"\u{fb33}\":2}");
}

#[test]
fn b_16_equal_hash_maps_are_the_same_whatever_their_seed() {
    // Every map has a seed of its own, so a hundred of these iterate in some hundred orders.
    let expected = text_of(&(0..50).map(|n| (format!("key-{n}"), n)).collect::<BTreeMap<_, _>>());

    for _ in 0..100 {
        let map: HashMap<_, _> = (0..50).map(|n| (format!("key-{n}"), n)).collect();
        assert_eq!(text_of(&map), expected);
    }
}

#[test]
fn shapes_are_told_apart() {
    let shapes = [
        "null",
        "[]",
        "{}",
        r#""""#,
        "0",
        "false",
        "[null]",
        "[[]]",
        "[[],[]]",
        r#"{"":null}"#,
        r#"["a","b"]"#,
        r#"["a,b"]"#,
        r#"["a\",\"b"]"#,
        r#"{"a":{"b":1}}"#,
        r#"{"a":{},"b":1}"#,
        r#"{"a:1,\"b":2}"#,
        r#"{"a":1,"b":2}"#,
        "[12]",
        "[1,2]",
    ];

    let texts: std::collections::BTreeSet<_> = shapes.iter().map(|shape| text_of_json(shape)).collect();

    assert_eq!(texts.len(), shapes.len());
}
