//! The canonical form and the fingerprint, built once more where an application has switched on
//! `serde_json`'s `arbitrary_precision`, `preserve_order` and `raw_value`.
//!
//! Under these features a number reaches a serializer as text in a struct of a private name, a map iterates
//! in the order of insertion, and JSON can be carried unparsed. None of that may show in a digest, so the
//! modules are compiled here from their own files with all of their tests, and `testdata/digests.tsv` holds
//! for both builds.
#![cfg(test)]

#[path = "../../../idem-runtime/src/canonical/mod.rs"]
mod canonical;
#[path = "../../../idem-runtime/src/fingerprint/mod.rs"]
#[expect(dead_code, reason = "the rest of idem-runtime uses the whole of it")]
mod fingerprint;

mod features;
mod oracle;

use serde::Serialize;

/// The canonical text of a value that has one.
fn text_of<T: Serialize + ?Sized>(value: &T) -> String {
    let mut text = Vec::new();
    canonical::write(value, &mut text).expect("the value has a canonical form");
    String::from_utf8(text).expect("canonical text is UTF-8")
}
