//! The canonical form, case by case. Compiled a second time by `tests/serde-json-features`, with
//! `serde_json`'s features switched on, so nothing here may depend on them.

mod data_model;
mod es6;
mod refusals;
mod rfc8785;
mod same_or_other;
mod text;

use serde::Serialize;

use super::{Error, write};

fn canonical<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let mut out = Vec::new();
    write(value, &mut out)?;
    Ok(String::from_utf8(out).expect("canonical text is UTF-8"))
}

/// The canonical text of a value that has one.
fn text_of<T: Serialize + ?Sized>(value: &T) -> String {
    canonical(value).expect("the value has a canonical form")
}

/// The canonical text of a JSON text, by way of `serde_json::Value`.
fn text_of_json(json: &str) -> String {
    text_of(&serde_json::from_str::<serde_json::Value>(json).expect("the test's JSON is JSON"))
}
