use std::io;

use http::header;

use super::*;
use crate::key::{KeyError, KeyForm};

const ORDER: &str = r#"{"item":"tea","qty":1}"#;

fn post() -> reqwest::RequestBuilder {
    let request = reqwest::Client::new().post("https://api.example.com/orders?dry=no");
    request.header(header::CONTENT_TYPE, "application/json").body(ORDER)
}

fn made(request: reqwest::RequestBuilder) -> Result<Operation, OperationError> {
    Operation::new(request.build().unwrap())
}

fn name(text: &'static str) -> HeaderName {
    HeaderName::from_static(text)
}

fn value(text: &'static str) -> HeaderValue {
    HeaderValue::from_static(text)
}

fn to_json(operation: &Operation) -> String {
    serde_json::to_string(operation).unwrap()
}

fn from_json(text: &str) -> Result<Operation, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// What every attempt sends, credentials included.
fn sent(operation: &Operation) -> (Method, String, HeaderMap, Vec<u8>) {
    let request = operation.to_request();
    let body = request.body().map_or(&[][..], |body| body.as_bytes().unwrap()).to_vec();
    (request.method().clone(), request.url().to_string(), request.headers().clone(), body)
}

#[test]
fn every_attempt_sends_the_same_request_under_one_new_key() {
    let operation = made(post()).unwrap();
    let other = made(post()).unwrap();

    assert_eq!(sent(&operation), sent(&operation));
    assert_ne!(operation.key(), other.key());
    let (method, url, headers, body) = sent(&operation);
    assert_eq!((method, url.as_str()), (Method::POST, "https://api.example.com/orders?dry=no"));
    assert_eq!(headers[IDEMPOTENCY_KEY], format!("\"{}\"", operation.key().as_str()));
    assert_eq!(
        (&headers[header::CONTENT_TYPE], body.as_slice()),
        (&value("application/json"), ORDER.as_bytes())
    );
}

// Reports: B64
#[test]
fn an_explicit_key_wins_wherever_it_is_given() {
    let by_name = Operation::builder(post().build().unwrap()).key("order 17").build().unwrap();
    let by_header = made(post().header("Idempotency-Key", "order-17")).unwrap();
    let both = post().header("Idempotency-Key", "order-17").build().unwrap();
    let both = Operation::builder(both).key("order-17").build().unwrap();

    assert_eq!(sent(&by_name).2[IDEMPOTENCY_KEY], "\"order 17\"");
    assert_eq!(sent(&by_header).2[IDEMPOTENCY_KEY], "order-17", "as the caller has written it");
    assert_eq!(sent(&both).2.get_all(IDEMPOTENCY_KEY).iter().collect::<Vec<_>>(), ["order-17"]);
}

#[test]
fn two_different_keys_are_an_error() {
    let request = post().header("Idempotency-Key", "\"order-17\"");

    let two_places =
        Operation::builder(request.try_clone().unwrap().build().unwrap()).key("order-18").build();
    let two_lines = made(request.header("Idempotency-Key", "order-18"));

    assert_eq!(two_places, Err(OperationError::TwoKeys));
    assert_eq!(two_lines, Err(OperationError::TwoKeys));
}

#[test]
fn the_key_goes_where_and_how_the_server_takes_it() {
    let request = post().build().unwrap();
    let builder = Operation::builder(request).key("order-17").key_form(KeyForm::Bare);
    let operation = builder.key_header(name("x-request-key")).build().unwrap();

    let headers = sent(&operation).2;

    assert_eq!(headers["x-request-key"], "order-17");
    assert!(!headers.contains_key(IDEMPOTENCY_KEY));
    assert_eq!(from_json(&to_json(&operation)), Ok(operation));
}

#[test]
fn what_cannot_be_sent_twice_or_kept_is_refused() {
    let stream = reqwest::Body::wrap(Chunks);
    let in_url = Request::new(Method::POST, Url::parse("https://me:secret@api.example.com/").unwrap());
    let latin = HeaderValue::from_bytes(b"caf\xe9").unwrap();
    let bad_key = Operation::builder(post().build().unwrap()).key("").build();

    assert_eq!(made(post().body(stream)), Err(OperationError::StreamingBody));
    assert_eq!(Operation::new(in_url), Err(OperationError::CredentialsInUrl));
    assert_eq!(made(post().header("x-note", latin)), Err(OperationError::HeaderNotText(name("x-note"))));
    assert_eq!(bad_key, Err(OperationError::Key(KeyError::Empty)));
}

/// A body whose bytes come one chunk after the other.
struct Chunks;

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, io::Error>>> {
        std::task::Poll::Ready(None)
    }
}

// The form is data in the files and queues of users: this text is never refreshed.
#[test]
fn an_operation_is_kept_in_the_form_that_is_documented() {
    let kept = concat!(
        r#"{"version":1,"key":"8e03978e-40d5-43dd-bc93-6894a57f9324","key_form":"quoted","#,
        r#""key_header":"idempotency-key","method":"POST","url":"https://api.example.com/orders?dry=no","#,
        r#""headers":[["content-type","application/json"],["x-note","caf\u00e9"]],"#,
        r#""credentials":[["authorization",null]],"body":{"text":"{\"item\":\"tea\",\"qty\":1}"},"#,
        r#""made_at":1796083217}"#
    );
    let request = post().header("x-note", "caf\u{e9}").bearer_auth("secret").build().unwrap();
    let builder = Operation::builder(request).key("8e03978e-40d5-43dd-bc93-6894a57f9324");
    let operation = builder.made_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_083_217)).build();
    let mut operation = operation.unwrap();

    assert_eq!(to_json(&operation), kept.replace("\\u00e9", "\u{e9}"));
    let mut resumed = from_json(kept).unwrap();
    assert_eq!(to_json(&resumed), to_json(&operation));
    for operation in [&mut operation, &mut resumed] {
        operation.set_credential(header::AUTHORIZATION, value("Bearer other")).unwrap();
    }
    assert_eq!(sent(&resumed), sent(&operation));
    assert_eq!(resumed, operation);
}

#[test]
fn a_body_that_is_no_text_is_kept_byte_for_byte() {
    let operation = made(post().body(vec![0, 159, 146, 150])).unwrap();

    assert!(to_json(&operation).contains(r#""body":{"base64":"AJ+Slg=="}"#), "{}", to_json(&operation));
    assert_eq!(from_json(&to_json(&operation)), Ok(operation));
}

#[test]
fn what_was_not_written_by_this_version_is_refused() {
    let kept = to_json(&made(post()).unwrap());

    let other_version = from_json(&kept.replace("\"version\":1", "\"version\":2")).unwrap_err();
    assert!(other_version.starts_with("an operation of version 2"), "{other_version}");
    assert!(from_json(&kept.replace("\"made_at\"", "\"expect\":true,\"made_at\"")).is_err());
    assert!(from_json(&kept.replace("\"key_form\":\"quoted\",", "")).is_err());
    assert!(from_json(&kept.replace("https://", "")).is_err());
    let with_password = from_json(&kept.replace("https://", "https://me:secret@")).unwrap_err();
    assert!(with_password.starts_with("the URL holds credentials"), "{with_password}");
    for place in ["headers", "credentials"] {
        let start = format!("\"{place}\":[");
        let line = if place == "headers" {
            r#"["idempotency-key","other"],"#
        } else {
            r#"["idempotency-key",null]"#
        };
        let two_keys = from_json(&kept.replace(&start, &format!("{start}{line}"))).unwrap_err();
        assert!(two_keys.starts_with("the operation was given two"), "{two_keys}");
    }
}

#[test]
fn a_name_with_one_line_that_is_marked_is_a_credential_in_all_its_lines() {
    let mut marked = value("secret");
    marked.set_sensitive(true);
    let operation = made(post().header("x-signature", "of-body").header("x-signature", marked)).unwrap();

    let mut resumed = from_json(&to_json(&operation)).unwrap();

    assert_eq!(sent(&operation).2.get_all("x-signature").iter().collect::<Vec<_>>(), ["of-body", "secret"]);
    resumed.set_credential(name("x-signature"), value("renewed")).unwrap();
    assert_eq!(resumed.missing_credentials().count(), 0);
}

#[test]
fn credentials_are_left_out_and_their_names_are_kept() {
    let request = post().bearer_auth("secret").header("X-Api-Key", "secret").header("Cookie", "secret");
    let mut marked = value("secret");
    marked.set_sensitive(true);
    let operation = made(request.header("x-signature", marked)).unwrap();

    let kept = to_json(&operation);
    let mut resumed = from_json(&kept).unwrap();

    assert!(!kept.contains("secret"), "{kept}");
    assert_eq!(operation.missing_credentials().count(), 0);
    let missing = resumed.missing_credentials().cloned().collect::<Vec<_>>();
    assert_eq!(missing, [header::AUTHORIZATION, name("x-api-key"), header::COOKIE, name("x-signature")]);
    for credential in missing {
        resumed.set_credential(credential, value("renewed")).unwrap();
    }
    assert_eq!(resumed.missing_credentials().count(), 0);
    assert_eq!(sent(&resumed).2["x-api-key"], "renewed");
    assert!(!to_json(&resumed).contains("renewed"));
}

#[test]
fn credentials_are_kept_when_that_is_asked_for() {
    let request = post().bearer_auth("secret").build().unwrap();
    let operation = Operation::builder(request).keep_credentials().build().unwrap();

    let resumed = from_json(&to_json(&operation)).unwrap();

    assert_eq!(resumed, operation);
    assert_eq!(sent(&resumed).2[header::AUTHORIZATION], "Bearer secret");
}

#[test]
fn only_credentials_can_be_changed() {
    let mut operation = made(post()).unwrap();

    for fixed in [header::CONTENT_TYPE, IDEMPOTENCY_KEY] {
        let refused = operation.set_credential(fixed.clone(), value("other"));
        assert_eq!(refused, Err(OperationError::NotACredential(fixed)));
    }
}

#[test]
fn nothing_that_is_secret_is_shown() {
    let request = reqwest::Client::new().post("https://api.example.com/orders?token=secret#secret");
    let request = request.bearer_auth("secret").header("x-note", "secret").body("secret").build().unwrap();
    let builder = Operation::builder(request).key("secret");
    let of_builder = format!("{builder:?}");
    let operation = builder.build().unwrap();

    let sent = operation.to_request();
    let shown = format!("{of_builder} {operation:?} {:?}", sent.headers()[IDEMPOTENCY_KEY]);

    assert!(!shown.contains("secret"), "{shown}");
    assert!(shown.contains("https://api.example.com/orders"), "{shown}");
}

#[test]
fn an_operation_is_as_old_as_its_key() {
    let made_at = clock::now() - Duration::from_mins(5);
    let operation = Operation::builder(post().build().unwrap()).made_at(made_at).build().unwrap();
    let early = Operation::builder(post().build().unwrap()).made_at(clock::now() + Duration::from_mins(5));

    let age = operation.age().as_secs();

    assert!((300..330).contains(&age), "{age}");
    assert_eq!(early.build().unwrap().age(), Duration::ZERO);
}
