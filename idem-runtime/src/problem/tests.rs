//! Every problem, word for word and header by header: long, since each body stands here as a client sees it.

use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use super::{DEFAULT_PROBLEM_BASE, ErrorShape, KeyPlace, Problem, Terms, Wording, describedby};
use crate::key::{IdempotencyKey, KeyError};
use crate::replay::STRIPE_SHOULD_RETRY;

const ALL: [Problem; 19] = [
    Problem::KeyMissing,
    Problem::KeyInvalid(KeyError::Empty),
    Problem::KeyInvalid(KeyError::Syntax),
    Problem::KeyInvalid(KeyError::NotAscii),
    Problem::KeyInvalid(KeyError::ControlCharacter),
    Problem::KeyInvalid(KeyError::Multiple),
    Problem::KeyInvalid(KeyError::TooLong),
    Problem::KeyInvalid(KeyError::Format),
    Problem::InProgress,
    Problem::KeyReused,
    Problem::NeedsReconciliation,
    Problem::StoreUnavailable,
    Problem::Transient,
    Problem::OutcomeUnknown,
    Problem::ScopeUnresolved,
    Problem::FingerprintFailed,
    Problem::ResponseNotStorable,
    Problem::CommitRejected,
    Problem::StoreMisconfigured,
];

fn body(problem: Problem) -> Value {
    serde_json::from_slice(problem.response(&Wording::default(), &Terms::default(), None).body())
        .expect("a problem is JSON")
}

fn headers(problem: Problem) -> HeaderMap {
    problem.response(&Wording::default(), &Terms::default(), None).into_parts().0.headers
}

/// Compares whole bodies, so that a member too many fails as one too few does (E-01).
fn assert_bodies<const N: usize>(expected: [(Problem, Value); N]) {
    for (problem, expected) in expected {
        assert_eq!(body(problem), expected);
    }
}

#[test]
fn a_missing_or_invalid_key_has_exactly_the_body_of_the_protocol() {
    assert_bodies([
        (
            Problem::KeyMissing,
            json!({
                "type": "https://idempotency.example/problems/key-missing",
                "title": "Idempotency-Key is missing",
                "status": 400,
                "detail": "This operation requires an Idempotency-Key header.",
                "code": "idempotency_key_missing",
                "retry": "fix_request",
            }),
        ),
        (
            Problem::KeyInvalid(KeyError::Syntax),
            json!({
                "type": "https://idempotency.example/problems/key-invalid",
                "title": "Idempotency-Key is not valid",
                "status": 400,
                "detail": "The Idempotency-Key header must be one string of 1 to 255 printable ASCII characters.",
                "code": "idempotency_key_invalid",
                "retry": "fix_request",
                "reason": "syntax",
            }),
        ),
    ]);
}

#[test]
fn a_key_in_use_has_exactly_the_body_of_the_protocol() {
    assert_bodies([
        (
            Problem::InProgress,
            json!({
                "type": "https://idempotency.example/problems/in-progress",
                "title": "A request with this Idempotency-Key is in progress",
                "status": 409,
                "detail": "The first request with this Idempotency-Key has not finished. \
                           Send the same request again later.",
                "code": "idempotency_in_progress",
                "retry": "same_key",
                "retry_after": 1,
            }),
        ),
        (
            Problem::KeyReused,
            json!({
                "type": "https://idempotency.example/problems/key-reused",
                "title": "Idempotency-Key is already used",
                "status": 422,
                "detail": "This Idempotency-Key was first used with a different request. \
                           Use a new key for a different request.",
                "code": "idempotency_key_reused",
                "retry": "new_key",
            }),
        ),
        (
            Problem::NeedsReconciliation,
            json!({
                "type": "https://idempotency.example/problems/needs-reconciliation",
                "title": "The outcome of this operation must be checked",
                "status": 409,
                "detail": "An earlier attempt did not finish and is too old to be run again automatically.",
                "code": "idempotency_needs_reconciliation",
                "retry": "never",
            }),
        ),
    ]);
}

#[test]
fn what_may_pass_has_exactly_the_body_of_the_protocol() {
    assert_bodies([
        (
            Problem::StoreUnavailable,
            json!({
                "type": "https://idempotency.example/problems/store-unavailable",
                "title": "The operation could not be started",
                "status": 503,
                "detail": "The request was not run. Send the same request again later.",
                "code": "idempotency_store_unavailable",
                "retry": "same_key",
                "retry_after": 1,
            }),
        ),
        (
            Problem::Transient,
            json!({
                "type": "https://idempotency.example/problems/transient",
                "title": "The operation was rolled back",
                "status": 503,
                "detail": "The request had no effect. Send the same request again later.",
                "code": "idempotency_transient",
                "retry": "same_key",
                "retry_after": 1,
            }),
        ),
        (
            Problem::OutcomeUnknown,
            json!({
                "type": "https://idempotency.example/problems/outcome-unknown",
                "title": "The outcome of the operation is unknown",
                "status": 503,
                "detail": "The request may have taken effect. Send the same request again with the same \
                           Idempotency-Key to learn the outcome.",
                "code": "idempotency_outcome_unknown",
                "retry": "same_key",
                "retry_after": 1,
            }),
        ),
    ]);
}

#[test]
fn a_failure_has_exactly_the_body_of_the_protocol() {
    assert_bodies([
        (
            Problem::ScopeUnresolved,
            json!({
                "type": "https://idempotency.example/problems/scope-unresolved",
                "title": "The request cannot be protected",
                "status": 500,
                "detail": "The request was not run.",
                "code": "idempotency_scope_unresolved",
                "retry": "never",
            }),
        ),
        (
            Problem::FingerprintFailed,
            json!({
                "type": "https://idempotency.example/problems/fingerprint-failed",
                "title": "The request cannot be compared",
                "status": 500,
                "detail": "The request was not run.",
                "code": "idempotency_fingerprint_failed",
                "retry": "never",
            }),
        ),
        (
            Problem::ResponseNotStorable,
            json!({
                "type": "https://idempotency.example/problems/response-not-storable",
                "title": "The response cannot be stored",
                "status": 500,
                "detail": "The operation was rolled back.",
                "code": "idempotency_response_not_storable",
                "retry": "never",
            }),
        ),
        (
            Problem::CommitRejected,
            json!({
                "type": "https://idempotency.example/problems/commit-rejected",
                "title": "The operation was rolled back",
                "status": 500,
                "detail": "The operation did not complete and had no effect.",
                "code": "idempotency_commit_rejected",
                "retry": "same_key",
            }),
        ),
        (
            Problem::StoreMisconfigured,
            json!({
                "type": "https://idempotency.example/problems/store-misconfigured",
                "title": "The operation could not be started",
                "status": 500,
                "detail": "The request was not run.",
                "code": "idempotency_store_misconfigured",
                "retry": "never",
            }),
        ),
    ]);
}

#[test]
fn a_key_that_is_too_long_learns_the_limit() {
    // H-21
    let body = body(Problem::KeyInvalid(KeyError::TooLong));

    assert_eq!(body["reason"], "too_long");
    assert_eq!(body["max"], 255);
}

#[test]
fn only_a_key_that_is_too_long_learns_the_limit() {
    for problem in ALL {
        let has_limit = body(problem).get("max").is_some();

        assert_eq!(has_limit, problem == Problem::KeyInvalid(KeyError::TooLong), "{problem:?}");
    }
}

#[test]
fn the_status_of_the_body_is_the_status_of_the_answer() {
    // E-01
    for problem in ALL {
        let response = problem.response(&Wording::default(), &Terms::default(), None);

        assert_eq!(response.status(), problem.status(&Terms::default()), "{problem:?}");
        assert_eq!(body(problem)["status"], problem.status(&Terms::default()).as_u16(), "{problem:?}");
    }
}

#[test]
fn the_code_repeats_the_end_of_the_type() {
    for problem in ALL {
        let body = body(problem);
        let slug = body["type"].as_str().and_then(|uri| uri.strip_prefix(DEFAULT_PROBLEM_BASE));

        let code = slug.map(|slug| format!("idempotency_{}", slug.replace('-', "_")));

        assert_eq!(code.as_deref(), Some(problem.code(&Terms::default())));
        assert_eq!(body["code"], problem.code(&Terms::default()));
    }
}

#[test]
fn every_problem_names_its_media_type_and_language_and_is_not_cached() {
    // E-01, E-04
    for problem in ALL {
        let headers = headers(problem);

        assert_eq!(headers[header::CONTENT_TYPE], "application/problem+json");
        assert_eq!(headers[header::CONTENT_LANGUAGE], "en");
        assert_eq!(headers[header::CACHE_CONTROL], "no-store");
    }
}

#[test]
fn retry_after_is_on_in_progress_and_every_503_and_nowhere_else() {
    // E-09
    for problem in ALL {
        let wanted = problem == Problem::InProgress
            || problem.status(&Terms::default()) == StatusCode::SERVICE_UNAVAILABLE;

        let sent = headers(problem).get(header::RETRY_AFTER).cloned();

        assert_eq!(sent.is_some_and(|seconds| seconds == "1"), wanted, "{problem:?}");
        assert_eq!(body(problem).get("retry_after").is_some(), wanted, "{problem:?}");
    }
}

#[test]
fn any_base_gives_valid_json() {
    let base = "https://api.test/\"quoted\"\\é\u{0}\n\u{1f}\u{2028}😀/";

    let wording = Wording { base: base.to_owned(), ..Wording::default() };
    let body = body_in(&wording, Problem::KeyReused);

    assert_eq!(body["type"], format!("{base}key-reused"));
}

fn body_in(wording: &Wording, problem: Problem) -> Value {
    let key = IdempotencyKey::new("k-0001").expect("a key");
    let response = problem.response(wording, &Terms::default(), Some(&key));
    serde_json::from_slice(response.body()).expect("a problem is JSON")
}

fn body_on(problem: Problem, terms: &Terms) -> Value {
    serde_json::from_slice(problem.response(&Wording::default(), terms, None).body())
        .expect("a problem is JSON")
}

#[test]
fn a_mismatch_has_the_status_that_was_asked_for() {
    // F-04
    for (status, retry) in [(422, "new_key"), (409, "never"), (400, "new_key")] {
        let terms = Terms { mismatch: StatusCode::from_u16(status).unwrap(), ..Terms::default() };

        let response = Problem::KeyReused.response(&Wording::default(), &terms, None);
        let body = body_on(Problem::KeyReused, &terms);

        assert_eq!(response.status(), terms.mismatch);
        assert!(!response.headers().contains_key(header::RETRY_AFTER));
        assert_eq!((&body["status"], &body["retry"]), (&json!(status), &json!(retry)));
        assert_eq!(body["code"], "idempotency_key_reused");
    }
}

#[test]
fn a_wait_that_runs_out_has_the_status_that_was_asked_for() {
    // G-32
    let terms = Terms { in_progress: StatusCode::SERVICE_UNAVAILABLE, ..Terms::default() };

    let response = Problem::InProgress.response(&Wording::default(), &terms, None);

    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    let mut expected = body(Problem::InProgress);
    expected["status"] = json!(503);
    assert_eq!(body_on(Problem::InProgress, &terms), expected);
}

/// The texts of a problem, both in one.
fn texts(problem: Problem, key: KeyPlace) -> String {
    let body = body_on(problem, &Terms { key, ..Terms::default() });
    format!("{}: {}", body["title"].as_str().unwrap(), body["detail"].as_str().unwrap())
}

#[test]
fn the_texts_name_the_header_that_holds_the_key() {
    let built = KeyPlace::Header("x-request-id".parse().unwrap());
    assert_eq!(
        texts(Problem::KeyMissing, built),
        "X-Request-Id is missing: This operation requires an X-Request-Id header."
    );
    assert_eq!(
        texts(Problem::KeyMissing, KeyPlace::Spelt("PayPal-Request-Id")),
        "PayPal-Request-Id is missing: This operation requires a PayPal-Request-Id header."
    );
    assert_eq!(
        texts(Problem::KeyMissing, KeyPlace::Spelt("idempotency-key")),
        "Idempotency-Key is missing: This operation requires an Idempotency-Key header."
    );
    for problem in [Problem::KeyInvalid(KeyError::Empty), Problem::InProgress, Problem::KeyReused] {
        let texts = texts(problem, KeyPlace::Spelt("PayPal-Request-Id"));
        assert!(
            texts.matches("PayPal-Request-Id").count() == 2 && !texts.contains("Idempotency-Key"),
            "{texts}"
        );
    }
}

#[test]
fn the_texts_say_that_the_key_is_a_field_of_the_request() {
    let texts = |problem| texts(problem, KeyPlace::Content);

    assert_eq!(
        texts(Problem::KeyMissing),
        "The idempotency key is missing: This operation requires an idempotency key, which is a field of the request."
    );
    assert_eq!(
        texts(Problem::KeyInvalid(KeyError::TooLong)),
        "The idempotency key is not valid: The idempotency key, which is a field of the request, must be one string of \
         1 to 255 printable ASCII characters."
    );
    for problem in ALL {
        assert!(!texts(problem).contains("Idempotency-Key"), "{problem:?}");
    }
}

fn stripe() -> Wording {
    Wording { shape: ErrorShape::stripe(), ..Wording::default() }
}

/// The members in Stripe's shape.
fn stripe_error(problem: Problem) -> Value {
    let mut body = body_in(&stripe(), problem);
    let error = body["error"].take();
    assert_eq!(body, json!({ "error": null }));
    error
}

#[test]
fn stripes_clients_find_the_errors_that_they_know() {
    // E-05, F-03
    assert_eq!(
        stripe_error(Problem::KeyReused),
        json!({
            "type": "idempotency_error",
            "message": "Keys for idempotent requests can only be used with the same parameters they were first used \
                        with. Try using a key other than 'k-0001' if you meant to execute a different request.",
        })
    );
    assert_eq!(
        stripe_error(Problem::InProgress),
        json!({
            "type": "idempotency_error",
            "code": "idempotency_key_in_use",
            "message": "There is currently another in-progress request using this Idempotent Key (that probably means \
                        you submitted twice, and the other request is still going through): k-0001. Please try again \
                        later.",
        })
    );
    assert_eq!(
        stripe_error(Problem::KeyMissing),
        json!({
            "type": "invalid_request_error",
            "code": "idempotency_key_missing",
            "message": "This operation requires an Idempotency-Key header.",
        })
    );
    assert_eq!(stripe_error(Problem::KeyInvalid(KeyError::Syntax))["code"], "idempotency_key_invalid");
    assert_eq!(
        stripe_error(Problem::OutcomeUnknown),
        json!({
            "type": "api_error",
            "code": "idempotency_outcome_unknown",
            "message": "The request may have taken effect. Send the same request again with the same Idempotency-Key \
                        to learn the outcome.",
        })
    );
}

#[test]
fn in_stripes_shape_only_two_messages_name_the_key() {
    for problem in ALL {
        let names_it = stripe_error(problem)["message"].as_str().expect("a text").contains("k-0001");
        assert_eq!(names_it, [Problem::KeyReused, Problem::InProgress].contains(&problem), "{problem:?}");
        assert!(!body_in(&Wording::default(), problem).to_string().contains("k-0001"), "{problem:?}");
    }
}

#[test]
fn stripes_clients_are_told_whether_to_send_the_request_again() {
    for problem in ALL {
        let response = problem.response(&stripe(), &Terms::default(), None);
        let told = response.headers().get(STRIPE_SHOULD_RETRY).map(|value| value.to_str().expect("a text"));
        let retry = body(problem)["retry"].clone();
        let wanted = match retry.as_str().expect("a text") {
            "same_key" if problem == Problem::CommitRejected => None,
            "same_key" => Some("true"),
            _ => Some("false"),
        };
        assert_eq!(told, wanted, "{problem:?}");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        assert!(!headers(problem).contains_key(STRIPE_SHOULD_RETRY), "{problem:?}");
    }
}

#[test]
fn every_problem_links_to_the_documentation_if_there_is_one() {
    // E-02
    for shape in [ErrorShape::problem(), ErrorShape::stripe()] {
        let wording =
            Wording { documentation: Some("https://api.test/docs".to_owned()), shape, ..Wording::default() };
        for problem in ALL {
            let response = problem.response(&wording, &Terms::default(), None);
            assert_eq!(
                response.headers()[header::LINK],
                "<https://api.test/docs>; rel=\"describedby\"; type=\"text/html\""
            );
            assert!(!headers(problem).contains_key(header::LINK));
        }
    }
}

#[test]
fn a_link_takes_nothing_that_would_end_it() {
    for uri in
        ["", "https://api.test/a b", "https://api.test/>; rel=\"x\"", "https://api.test/\u{e9}", "a\r\nb"]
    {
        assert_eq!(describedby(uri), None, "{uri:?}");
    }
}
