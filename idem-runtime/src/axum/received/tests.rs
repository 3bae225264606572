use ::axum::Router;
use ::axum::body::Body;
use ::axum::extract::rejection::JsonRejection;
use ::axum::extract::{DefaultBodyLimit, Json, Request};
use ::axum::routing::post;
use bytes::Bytes;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::Value;
use tower_service::Service as _;

use super::*;
use crate::axum::extract::tests::{as_if, digest};
use crate::{Digest, Fingerprinter};

/// Deserialised only, so that it could not be compared as it was read.
#[derive(Debug, serde::Deserialize)]
struct Event {
    id: String,
}

fn request(media_type: &str, body: &[u8]) -> Request {
    let request = Request::post("/events?a=1").header(CONTENT_TYPE, media_type);
    request.body(Body::from(body.to_vec())).expect("the test's media type is a header value")
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

fn received<E: FromRequest<()>>(media_type: &str, body: &[u8]) -> Result<Received<E>, StatusCode> {
    run(Received::from_request(request(media_type, body), &())).map_err(|refused| refused.status())
}

/// The digest of a request whose body has this media type and is marked `#[fingerprint(body)]`.
fn digest_of(media_type: &str, body: &str) -> Digest {
    let received = received::<Bytes>(media_type, body.as_bytes()).expect("bytes are never refused");
    as_if(|into: &mut Fingerprinter| into.body(&received.content, received.is_json))
}

// Cases: B-26
#[test]
fn json_is_compared_as_a_value_and_anything_else_as_bytes() {
    let json = r#"{"item":"tea","qty":1}"#;
    let value: Value = serde_json::from_str(json).unwrap();
    let bytes = digest(&Bytes::from_static(json.as_bytes()));

    for media_type in ["application/json", "Application/JSON; charset=utf-8", "application/cloudevents+json"]
    {
        assert_eq!(digest_of(media_type, json), digest(&Json(value.clone())), "{media_type}");
    }
    for media_type in ["text/plain", "text/json", "application/octet-stream", "application/json5", ""] {
        assert_eq!(digest_of(media_type, json), bytes, "{media_type}");
    }
}

/// The rows of the table of bodies, by its columns `Value` and `Bytes`.
// Cases: B-26
#[test]
fn two_received_bodies_are_the_same_where_their_values_are() {
    let same = [
        (r#"{"item":"tea","qty":1}"#, r#"{"qty":1,"item":"tea"}"#),
        (r#"{"item":"tea","qty":1}"#, "{ \"item\" : \"tea\",\n \"qty\" : 1 }"),
        (r#"{"qty":1}"#, r#"{"qty":1.0}"#),
        (r#"{"qty":1}"#, r#"{"qty":1e0}"#),
        (r#"{"x":0.0}"#, r#"{"x":-0.0}"#),
        (r#"{"item":"tea"}"#, r#"{"item":"\u0074ea"}"#),
        (r#"{"p":"a/b"}"#, r#"{"p":"a\/b"}"#),
        (r#"{"a":{"y":1,"x":[{"q":1,"p":2}]}}"#, r#"{"a":{"x":[{"p":2,"q":1}],"y":1}}"#),
        (r#"{"\u20ac":1,"\ufb33":2,"\ud83d\ude02":3}"#, r#"{"\ud83d\ude02":3,"\ufb33":2,"\u20ac":1}"#),
    ];
    let others = [
        (r#"{"amount":9007199254740992}"#, r#"{"amount":9007199254740993}"#),
        (r#"{"s":"\u00c5"}"#, r#"{"s":"A\u030a"}"#),
        ("[1,2]", "[2,1]"),
        (r#"{"item":"tea"}"#, r#"{"item":"tea","note":"x"}"#),
        (r#"{"item":"tea"}"#, r#"{"item":"tea","note":null}"#),
        (r#"{"a":1}"#, r#"{"a":"1"}"#),
    ];
    let json = |body| digest_of("application/json", body);
    let plain = |body| digest_of("application/x-www-form-urlencoded", body);

    for (first, second) in same {
        assert_eq!(json(first), json(second), "{first} and {second}");
        assert_ne!(plain(first), plain(second), "{first} and {second}");
    }
    for (first, second) in others {
        assert_ne!(json(first), json(second), "{first} and {second}");
    }
}

#[test]
fn a_body_is_json_where_axum_takes_it_for_json() {
    let media_types = [
        "application/json",
        "APPLICATION/JSON",
        "application/json;charset=utf-8",
        "application/vnd.api+json",
        "application/vnd.api+json; version=1",
        "application/xml",
        "application/jsonl",
        "text/json",
        "text/x+json",
        "json",
        "",
    ];

    for media_type in media_types {
        let taken = match run(Json::<Value>::from_request(request(media_type, b"{}"), &())) {
            Ok(_) => true,
            Err(JsonRejection::MissingJsonContentType(_)) => false,
            Err(other) => panic!("{media_type}: {other}"),
        };
        assert_eq!(is_json(request(media_type, b"").headers()), taken, "{media_type}");
    }
    assert!(!is_json(&HeaderMap::new()));
    // Space that RFC 9110, 5.6.6 allows; axum's `Json` refuses it, another extractor need not.
    assert!(is_json(request("application/json ; charset=utf-8", b"").headers()));
}

#[test]
fn the_extractor_within_sees_the_request_as_it_came() {
    let whole = received::<Request>("text/plain", b"hello").expect("a request is never refused").into_inner();

    assert_eq!(whole.method(), http::Method::POST);
    assert_eq!(whole.uri(), "/events?a=1");
    assert_eq!(whole.headers()[CONTENT_TYPE], "text/plain");
    assert_eq!(run(String::from_request(whole, &())).expect("the body is text"), "hello");
}

#[test]
fn a_payload_need_not_be_serialize() {
    let event = received::<Json<Event>>("application/json", br#"{"id":"evt_1","n":1}"#).expect("an event");

    assert_eq!(event.as_inner().id, "evt_1");
    assert_eq!(event.into_inner().0.id, "evt_1");
}

#[test]
fn what_the_extractor_within_refuses_is_refused_in_its_words() {
    let status = |media_type: &str, body: &[u8]| {
        let alone =
            run(Json::<Event>::from_request(request(media_type, body), &())).expect_err("it is refused");
        let refused = received::<Json<Event>>(media_type, body).expect_err("it is refused");
        assert_eq!(refused, alone.status());
        refused
    };

    assert_eq!(status("application/json", b"{"), StatusCode::BAD_REQUEST);
    assert_eq!(status("application/json", b"{}"), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(status("text/plain", b"{}"), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert!(received::<Result<Json<Event>, JsonRejection>>("text/plain", b"{}").is_ok());
    assert!(received::<Option<Json<Event>>>("application/json", b"{}").is_err());
}

#[test]
fn the_limit_of_the_body_is_the_routers() {
    async fn length(body: Received<Bytes>) -> String {
        body.as_inner().len().to_string()
    }
    let status = |limit: Option<DefaultBodyLimit>, length_of: usize| {
        let mut app: Router = Router::new().route("/events", post(length));
        if let Some(limit) = limit {
            app = app.layer(limit);
        }
        let answer = run(app.call(request("text/plain", &vec![b'a'; length_of])));
        answer.unwrap_or_else(|never| match never {}).status()
    };

    assert_eq!(status(None, 2 << 20), StatusCode::OK);
    assert_eq!(status(None, (2 << 20) + 1), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(status(Some(DefaultBodyLimit::max(4)), 4), StatusCode::OK);
    assert_eq!(status(Some(DefaultBodyLimit::max(4)), 5), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(status(Some(DefaultBodyLimit::disable()), 3 << 20), StatusCode::OK);
}

#[test]
fn a_received_body_that_is_logged_shows_its_length() {
    let received = received::<Json<Event>>("application/json", br#"{"id":"evt_1","to":"jane"}"#).unwrap();

    let shown = format!("{received:?}");

    assert!(shown.contains("evt_1") && shown.contains("body_bytes: 26"), "{shown}");
    assert!(!shown.contains("jane"), "{shown}");
}
