//! What arrives as text: `serde_json`'s private forms, here spelled out, so that they are tested in every
//! build.

use serde::Serialize;

use super::super::{Error, MAX_DEPTH};
use super::{canonical, text_of};

#[derive(Serialize)]
#[serde(rename = "$serde_json::private::RawValue")]
struct Raw<'t> {
    #[serde(rename = "$serde_json::private::RawValue")]
    json: &'t str,
}

#[derive(Serialize)]
#[serde(rename = "$serde_json::private::Number")]
struct Number<'t> {
    #[serde(rename = "$serde_json::private::Number")]
    digits: &'t str,
}

fn raw(json: &str) -> Result<String, Error> {
    canonical(&Raw { json })
}

fn number(digits: &str) -> Result<String, Error> {
    canonical(&Number { digits })
}

#[test]
fn a_raw_value_is_written_as_the_value_it_holds() {
    let json = r#" { "b" : [ 1.0 , true,false ,null, "\u0074e\/a\ud83d\ude02\n" ], "a":{ } , "":[] } "#;

    assert_eq!(raw(json).unwrap(), r#"{"":[],"a":{},"b":[1,true,false,null,"te/a😂\n"]}"#);
    assert_eq!(text_of(&[Raw { json: "1e2" }, Raw { json: "\"\"" }]), r#"[100,""]"#);
}

#[test]
fn a_raw_value_has_one_member_of_a_name() {
    assert!(matches!(raw(r#"{"a":1,"\u0061":1}"#), Err(Error::DuplicateMember(name)) if name == "a"));
}

#[test]
fn a_raw_value_is_bounded_in_depth() {
    let allowed = "[".repeat(MAX_DEPTH / 2) + &"]".repeat(MAX_DEPTH / 2);

    assert!(matches!(raw(&"[".repeat(100_000)), Err(Error::TooDeep)));
    assert!(matches!(raw(&r#"{"a":"#.repeat(100_000)), Err(Error::TooDeep)));
    assert_eq!(raw(&allowed).unwrap(), allowed);
}

#[test]
fn a_raw_value_that_is_not_json_is_refused() {
    let broken = [
        "",
        " ",
        "nul",
        "nulll",
        "tru",
        "True",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{,}",
        "\"",
        "\"a",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"\\u12é\"",
        "\"\t\"",
        "\"\u{0}\"",
        "1 1",
        "[] x",
        "'a'",
        "NaN",
        "Infinity",
        "\u{feff}1",
        "/**/1",
        "\u{a0}1",
    ];
    for json in broken {
        assert!(matches!(raw(json), Err(Error::NotJson { .. })), "{json:?} was taken for JSON");
    }
}

#[test]
fn a_lone_surrogate_is_refused() {
    for json in [r#""\ud83d""#, r#""\ude02""#, r#""\ud83d\ud83d""#, r#""\ud83d\n""#, r#""\ud83dude02""#] {
        assert!(matches!(raw(json), Err(Error::NotJson { .. })), "{json} was taken for a text");
    }
}

#[test]
fn the_spelling_of_a_number_means_nothing() {
    let spellings: [(&str, &[&str]); 10] = [
        ("0", &["-0", "0.0", "-0.000", "0e9", "0E-99999", "-0.0e+5", "0e99999999999999999999"]),
        ("1", &["1.0", "1e0", "10e-1", "0.1e1", "1.000E+000", "0.0000001e7"]),
        ("100", &["1e2", "100.00", "1E+2", "1000e-1", "0.001e5"]),
        ("0.1", &["0.1000", "1e-1", "1.0E-01", "0.01e1"]),
        ("-1.5", &["-15e-1", "-1.50", "-0.15e1"]),
        ("0.000001", &["1e-6", "0.0000010", "10E-7"]),
        ("1e-7", &["0.0000001", "10e-8", "0.1E-6"]),
        ("100000000000000000000", &["1e20", "1000000000000000000.00e2"]),
        ("1e+21", &["1000000000000000000000", "1E21", "10.0e20"]),
        ("1e+400", &["1E400", "10e399", "0.001e+403"]),
    ];

    for (text, others) in spellings {
        assert_eq!(number(text).unwrap(), text);
        for other in others {
            assert_eq!(number(other).unwrap(), text, "{other}");
            assert_eq!(raw(other).unwrap(), text, "{other}");
        }
    }
}

#[test]
fn integers_of_64_bits_are_written_as_their_types_write_them() {
    for integer in [0, 1, 9_007_199_254_740_992, 9_007_199_254_740_993, u64::MAX - 1, u64::MAX] {
        assert_eq!(number(&integer.to_string()).unwrap(), text_of(&integer));
    }
    for integer in [-1, -9_007_199_254_740_993, i64::MIN + 1, i64::MIN] {
        assert_eq!(number(&integer.to_string()).unwrap(), text_of(&integer));
    }
}

#[test]
fn no_digit_is_lost() {
    let exact = [
        "123456789012345678901.5",
        "0.1000000000000000055511151231257827",
        "9007199254740993.0000000000000000000000001",
        "1.23456789012345678901234567890123e+32",
        "-1.00000000000000000000000000000001e-400",
        "1e-9223372036854775807",
        "1e+9223372036854775807",
    ];
    for digits in exact {
        assert_eq!(number(digits).unwrap(), digits);
    }
    let thirty_three = "123456789012345678901234567890123";
    assert_eq!(number(thirty_three).unwrap(), "1.23456789012345678901234567890123e+32");
    assert_ne!(number(thirty_three).unwrap(), number("123456789012345678901234567890124").unwrap());
}

#[test]
fn an_exponent_at_the_edge_of_64_bits_is_exact_or_refused() {
    assert_eq!(number("10e9223372036854775807").unwrap(), "1e+9223372036854775808");
    assert_eq!(number("0.01e-9223372036854775808").unwrap(), "1e-9223372036854775810");
    assert!(matches!(number("1e9223372036854775808"), Err(Error::NotANumber)));
    assert!(matches!(number("1e-99999999999999999999"), Err(Error::NotANumber)));
}

#[test]
fn what_is_not_a_json_number_is_refused() {
    let broken = [
        "",
        "-",
        "+1",
        "01",
        "-01",
        "00",
        "1.",
        ".1",
        "1.e1",
        "1e",
        "1e+",
        "1e1.0",
        "1e1e1",
        "1.1.1",
        "0x1",
        "1_0",
        " 1",
        "1 ",
        "--1",
        "1-",
        "NaN",
        "Infinity",
        "-Infinity",
        "1f",
        "١",
    ];
    for digits in broken {
        assert!(matches!(number(digits), Err(Error::NotANumber)), "{digits:?} was taken for a number");
    }
}

#[test]
fn a_private_form_has_one_field_of_its_own_name() {
    #[derive(Serialize)]
    #[serde(rename = "$serde_json::private::Number")]
    struct Misnamed {
        digits: &'static str,
    }
    #[derive(Serialize)]
    #[serde(rename = "$serde_json::private::RawValue")]
    struct Empty {}
    #[derive(Serialize)]
    #[serde(rename = "$serde_json::private::Number")]
    struct Two {
        #[serde(rename = "$serde_json::private::Number")]
        first: &'static str,
        second: u8,
    }

    assert!(matches!(canonical(&Misnamed { digits: "1" }), Err(Error::Incomplete)));
    assert!(matches!(canonical(&Empty {}), Err(Error::Incomplete)));
    assert!(matches!(canonical(&Two { first: "1", second: 2 }), Err(Error::Incomplete)));
}
