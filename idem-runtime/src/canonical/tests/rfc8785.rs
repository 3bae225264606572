//! The vectors that come with RFC 8785.

use super::{text_of, text_of_json};

macro_rules! vector {
    ($name:literal) => {
        (
            include_str!(concat!("../../../testdata/rfc8785/input/", $name, ".json")),
            include_str!(concat!("../../../testdata/rfc8785/output/", $name, ".json")),
        )
    };
}

// Cases: B-24
#[test]
fn a_value_is_written_as_rfc_8785_writes_it() {
    let vectors =
        [vector!("arrays"), vector!("french"), vector!("structures"), vector!("unicode"), vector!("weird")];

    for (input, output) in vectors {
        assert_eq!(text_of_json(input), output);
    }
}

// Cases: B-24
#[test]
fn numbers_and_strings_are_written_as_rfc_8785_writes_them() {
    // Typed, because 333333333.33333329 does not survive a double: serde_json rounds it to one of two
    // neighbours, or keeps it as it is, depending on its features.
    #[derive(serde::Serialize)]
    struct Values {
        numbers: [f64; 5],
        string: &'static str,
        literals: (Option<()>, bool, bool),
    }
    let (_, output) = vector!("values");

    let values = Values {
        numbers: ["333333333.33333329", "1E30", "4.50", "2e-3", "0.000000000000000000000000001"]
            .map(|text| text.parse().unwrap()),
        string: "\u{20ac}$\u{f}\nA'B\"\\\\\"/",
        literals: (None, true, false),
    };

    assert_eq!(text_of(&values), output);
}

/// RFC 8785, 3.2.3: the order that its example must come out in.
#[test]
fn members_are_sorted_by_utf_16_code_units() {
    let names = ["\u{20ac}", "\r", "\u{fb33}", "1", "\u{1f600}", "\u{80}", "\u{f6}"];
    let sorted = ["\r", "1", "\u{80}", "\u{f6}", "\u{20ac}", "\u{1f600}", "\u{fb33}"];

    let json = serde_json::Value::Object(names.into_iter().map(|name| (name.to_owned(), 1.into())).collect());

    let expected = sorted.map(|name| format!("{}:1", serde_json::to_string(name).unwrap())).join(",");
    assert_eq!(text_of(&json), format!("{{{expected}}}"));
}
