//! The problem bodies of the protocol, section 5.1, word for word: what a library error must be.

use std::sync::LazyLock;

use serde_json::{Value as JsonValue, json};

use crate::http::Answer;

/// Every code that a library error can have, with its complete body. `reason` and `max` of
/// `idempotency_key_invalid` come on top.
const BODIES: [&str; 13] = [
    r#"{"type":"https://idempotency.example/problems/key-missing","title":"Idempotency-Key is missing","status":400,"detail":"This operation requires an Idempotency-Key header.","code":"idempotency_key_missing","retry":"fix_request"}"#,
    r#"{"type":"https://idempotency.example/problems/key-invalid","title":"Idempotency-Key is not valid","status":400,"detail":"The Idempotency-Key header must be one string of 1 to 255 printable ASCII characters.","code":"idempotency_key_invalid","retry":"fix_request"}"#,
    r#"{"type":"https://idempotency.example/problems/in-progress","title":"A request with this Idempotency-Key is in progress","status":409,"detail":"The first request with this Idempotency-Key has not finished. Send the same request again later.","code":"idempotency_in_progress","retry":"same_key","retry_after":1}"#,
    r#"{"type":"https://idempotency.example/problems/key-reused","title":"Idempotency-Key is already used","status":422,"detail":"This Idempotency-Key was first used with a different request. Use a new key for a different request.","code":"idempotency_key_reused","retry":"new_key"}"#,
    r#"{"type":"https://idempotency.example/problems/needs-reconciliation","title":"The outcome of this operation must be checked","status":409,"detail":"An earlier attempt did not finish and is too old to be run again automatically.","code":"idempotency_needs_reconciliation","retry":"never"}"#,
    r#"{"type":"https://idempotency.example/problems/store-unavailable","title":"The operation could not be started","status":503,"detail":"The request was not run. Send the same request again later.","code":"idempotency_store_unavailable","retry":"same_key","retry_after":1}"#,
    r#"{"type":"https://idempotency.example/problems/transient","title":"The operation was rolled back","status":503,"detail":"The request had no effect. Send the same request again later.","code":"idempotency_transient","retry":"same_key","retry_after":1}"#,
    r#"{"type":"https://idempotency.example/problems/outcome-unknown","title":"The outcome of the operation is unknown","status":503,"detail":"The request may have taken effect. Send the same request again with the same Idempotency-Key to learn the outcome.","code":"idempotency_outcome_unknown","retry":"same_key","retry_after":1}"#,
    r#"{"type":"https://idempotency.example/problems/scope-unresolved","title":"The request cannot be protected","status":500,"detail":"The request was not run.","code":"idempotency_scope_unresolved","retry":"never"}"#,
    r#"{"type":"https://idempotency.example/problems/fingerprint-failed","title":"The request cannot be compared","status":500,"detail":"The request was not run.","code":"idempotency_fingerprint_failed","retry":"never"}"#,
    r#"{"type":"https://idempotency.example/problems/response-not-storable","title":"The response cannot be stored","status":500,"detail":"The operation was rolled back.","code":"idempotency_response_not_storable","retry":"never"}"#,
    r#"{"type":"https://idempotency.example/problems/commit-rejected","title":"The operation was rolled back","status":500,"detail":"The operation did not complete and had no effect.","code":"idempotency_commit_rejected","retry":"same_key"}"#,
    r#"{"type":"https://idempotency.example/problems/store-misconfigured","title":"The operation could not be started","status":500,"detail":"The request was not run.","code":"idempotency_store_misconfigured","retry":"never"}"#,
];

/// The same, read, each with its code.
static CODES: LazyLock<Vec<(&str, JsonValue)>> = LazyLock::new(|| {
    let read = |text: &'static str| {
        let code = text.split(r#""code":""#).nth(1).and_then(|rest| rest.split('"').next());
        (code.expect("a code in every body"), serde_json::from_str(text).expect("JSON"))
    };
    BODIES.iter().map(|text| read(text)).collect()
});

/// The complete body of the library error with this code.
fn body(code: &str) -> JsonValue {
    let found = CODES.iter().find(|(candidate, _)| *candidate == code);
    found.unwrap_or_else(|| panic!("no code `{code}`")).1.clone()
}

/// Asserts that `answer` is the library error with this code: status, every member, every header.
///
/// # Panics
/// If it is anything else.
#[track_caller]
pub fn assert_problem(answer: &Answer, code: &str) {
    assert_is(answer, &body(code));
}

/// Asserts that `answer` is a library error with this status and code, whatever its text says.
///
/// # Panics
/// If it is anything else.
#[track_caller]
pub fn assert_refusal(answer: &Answer, status: u16, code: &str) {
    answer.expected();
    let body = String::from_utf8_lossy(&answer.body);
    let members: JsonValue = serde_json::from_slice(&answer.body).unwrap_or_default();
    assert_eq!((answer.status, members["code"].as_str()), (status, Some(code)), "body {body}");
    assert_eq!(members["status"], status);
    assert_eq!(answer.field("content-type"), Some("application/problem+json"));
    assert_eq!(answer.field("idempotent-replayed"), None);
}

/// Asserts that `answer` refuses the key for this `reason`.
///
/// # Panics
/// If it is anything else.
#[track_caller]
pub fn assert_key_invalid(answer: &Answer, reason: &str) {
    let mut expected = body("idempotency_key_invalid");
    expected["reason"] = json!(reason);
    if reason == "too_long" {
        expected["max"] = json!(255);
    }
    assert_is(answer, &expected);
}

/// Asserts that `answer` says, with this status, that the first request has not finished.
///
/// # Panics
/// If it is anything else.
#[track_caller]
pub fn assert_in_progress(answer: &Answer, status: u16) {
    let mut expected = body("idempotency_in_progress");
    expected["status"] = json!(status);
    assert_is(answer, &expected);
}

/// Asserts that `answer` is a mismatch with this status, after which a client should do what `retry` says.
///
/// # Panics
/// If it is anything else.
#[track_caller]
pub fn assert_mismatch(answer: &Answer, status: u16, retry: &str) {
    let mut expected = body("idempotency_key_reused");
    expected["status"] = json!(status);
    expected["retry"] = json!(retry);
    assert_is(answer, &expected);
}

/// The code of the library error that `answer` is, word for word; `None` if it is none.
#[must_use]
pub fn code(answer: &Answer) -> Option<&'static str> {
    let members = serde_json::from_slice::<JsonValue>(&answer.body).ok()?;
    let expected = CODES.iter().find(|(_, body)| *body == members)?;
    let retry_after = members.get("retry_after").map(|_| "1");
    let is_whole = members["status"] == answer.status
        && answer.field("content-type") == Some("application/problem+json")
        && answer.field("cache-control") == Some("no-store")
        && answer.field("retry-after") == retry_after
        && answer.field("idempotent-replayed").is_none();
    is_whole.then_some(expected.0)
}

#[track_caller]
fn assert_is(answer: &Answer, expected: &JsonValue) {
    answer.expected();
    // The body first: it says most about what happened instead.
    let body = String::from_utf8_lossy(&answer.body);
    assert_eq!(
        serde_json::from_slice::<JsonValue>(&answer.body).ok().as_ref(),
        Some(expected),
        "status {}, body {body}",
        answer.status
    );
    assert_eq!(JsonValue::from(answer.status), expected["status"]);
    assert_eq!(answer.field("content-type"), Some("application/problem+json"));
    assert_eq!(answer.field("content-language"), Some("en"));
    assert_eq!(answer.field("cache-control"), Some("no-store"));
    assert_eq!(answer.field("idempotent-replayed"), None);
    let retry_after = expected.get("retry_after").map(|_| "1");
    assert_eq!(answer.field("retry-after"), retry_after);
}
