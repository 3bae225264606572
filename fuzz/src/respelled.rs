//! JSON spelled as oddly as it can be.

use std::fmt::Write as _;

use serde_json::Value;

/// The value with space wherever there may be some, members from last to first, every character escaped, and numbers
/// with a zero and an exponent more than they need.
pub(crate) fn respelled(value: &Value) -> String {
    let spelled = match value {
        Value::Number(number) => respelled_number(&number.to_string()),
        Value::String(text) => escaped(text),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(respelled).collect();
            format!("[\n{}\r]", elements.join(","))
        }
        Value::Object(members) => {
            let members = members.iter().rev();
            let members: Vec<String> =
                members.map(|(name, value)| format!("\t{} :{}", escaped(name), respelled(value))).collect();
            format!("{{ {} }}", members.join(","))
        }
        Value::Null | Value::Bool(_) => value.to_string(),
    };
    format!(" {spelled}\n")
}

/// Every UTF-16 code unit as `\uXXXX`.
fn escaped(text: &str) -> String {
    let mut escaped = String::from("\"");
    for unit in text.encode_utf16() {
        write!(escaped, "\\u{unit:04X}").expect("a string takes everything");
    }
    escaped + "\""
}

/// `12` as `12.0E+00`, `1.5e-7` as `1.50E-7`.
fn respelled_number(number: &str) -> String {
    let (mantissa, exponent) = number.split_once('e').unwrap_or((number, "+00"));
    let fraction = if mantissa.contains('.') { "0" } else { ".0" };
    format!("{mantissa}{fraction}E{exponent}")
}
