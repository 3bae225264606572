use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

use super::{DecodeError, IDEMPOTENT_REPLAYED, Marker, ReplayHeaders, StoredResponse};

const X_TOTAL: HeaderName = HeaderName::from_static("x-total");

/// What is kept of an answer with these headers, written to a key row and read back.
fn kept(
    status: StatusCode,
    headers: &[(HeaderName, &[u8])],
    body: &'static [u8],
    also: &[HeaderName],
) -> StoredResponse {
    let mut response = Response::new(());
    *response.status_mut() = status;
    for (name, value) in headers {
        let value = HeaderValue::from_bytes(value).expect("a valid value");
        response.headers_mut().append(name, value);
    }
    let (parts, ()) = response.into_parts();

    let stored = StoredResponse::keep(&parts, Bytes::from_static(body), &ReplayHeaders::Built(also.into()));
    let read = StoredResponse::decode(
        i64::from(stored.status().as_u16()),
        &stored.encode_headers(),
        stored.body().to_vec(),
    );

    assert_eq!(read.as_ref(), Ok(&stored));
    stored
}

fn names(stored: &StoredResponse) -> Vec<&str> {
    stored.headers().keys().map(HeaderName::as_str).collect()
}

#[test]
fn a_replay_has_status_headers_and_body_of_the_first_answer() {
    // R-01, R-03
    let stored = kept(
        StatusCode::CREATED,
        &[(header::CONTENT_TYPE, b"application/json"), (header::LOCATION, b"/orders/7")],
        b"{ \"b\":1.0, \"a\":1 }",
        &[],
    );

    let replay = stored.into_response();

    assert_eq!(replay.status(), StatusCode::CREATED);
    assert_eq!(replay.headers()[header::CONTENT_TYPE], "application/json");
    assert_eq!(replay.headers()[header::LOCATION], "/orders/7");
    assert_eq!(replay.headers().len(), 2);
    // R-06
    assert_eq!(replay.body(), "{ \"b\":1.0, \"a\":1 }");
}

#[test]
fn an_answer_without_a_body_stays_one() {
    // R-04
    let replay = kept(StatusCode::NO_CONTENT, &[], b"", &[]).into_response();

    assert_eq!(replay.status(), StatusCode::NO_CONTENT);
    assert!(replay.body().is_empty());
    assert!(!replay.headers().contains_key(header::CONTENT_TYPE));
}

#[test]
fn only_listed_and_configured_headers_are_kept() {
    // R-12
    let sent: &[(HeaderName, &[u8])] = &[
        (header::CONTENT_TYPE, b"text/plain"),
        (header::CONTENT_ENCODING, b"gzip"),
        (header::CONTENT_LANGUAGE, b"en"),
        (header::CONTENT_DISPOSITION, b"inline"),
        (header::LOCATION, b"/1"),
        (header::LINK, b"</2>"),
        (header::ETAG, b"\"3\""),
        (header::LAST_MODIFIED, b"Thu, 01 Jan 1970 00:00:00 GMT"),
        (X_TOTAL, b"9"),
        (header::CACHE_CONTROL, b"no-store"),
        (header::RETRY_AFTER, b"30"),
        (HeaderName::from_static("x-request-id"), b"1"),
        (header::DATE, b"Thu, 01 Jan 1970 00:00:00 GMT"),
    ];
    let listed = [
        "content-type",
        "content-encoding",
        "content-language",
        "content-disposition",
        "location",
        "link",
        "etag",
        "last-modified",
    ];

    let default = kept(StatusCode::OK, sent, b"", &[]);
    let configured = kept(StatusCode::OK, sent, b"", &[X_TOTAL]);

    assert_eq!(names(&default), listed);
    assert_eq!(names(&configured), [listed.as_slice(), &["x-total"]].concat());
}

#[test]
fn a_cookie_is_not_replayed() {
    // R-13
    let stored = kept(StatusCode::OK, &[(header::SET_COOKIE, b"session=1")], b"", &[header::SET_COOKIE]);

    assert_eq!(names(&stored), [""; 0]);
}

#[test]
fn values_of_one_name_keep_number_and_order_as_bytes() {
    // R-20
    let sent: &[(HeaderName, &[u8])] = &[
        (header::LINK, b"</a>; rel=next"),
        (header::CONTENT_TYPE, b"text/plain"),
        (header::LINK, b"</\xff>"),
        (header::LINK, b"</a>; rel=next"),
    ];

    let replay = kept(StatusCode::OK, sent, b"", &[]).into_response();

    let links: Vec<_> = replay.headers().get_all(header::LINK).iter().map(HeaderValue::as_bytes).collect();
    assert_eq!(links, [b"</a>; rel=next".as_slice(), b"</\xff>", b"</a>; rel=next"]);
}

#[test]
fn a_body_is_kept_byte_for_byte() {
    // R-05
    static BYTES: [u8; 256] = {
        let mut bytes = [0; 256];
        let mut next = 0_u8;
        while next < 255 {
            bytes[next as usize] = next;
            next += 1;
        }
        bytes[255] = 255;
        bytes
    };

    let replay = kept(StatusCode::OK, &[], &BYTES, &[]).into_response();

    assert_eq!(replay.body().as_ref(), BYTES);
}

#[test]
fn a_status_that_is_none_is_refused() {
    for status in [i64::MIN, -200, 0, 99, 1000, 65_736, i64::MAX] {
        assert_eq!(StoredResponse::decode(status, b"\x01\0\0\0\0", vec![]), Err(DecodeError::Status));
    }
    assert!(StoredResponse::decode(299_i16, b"\x01\0\0\0\0", vec![]).is_ok());
}

#[test]
fn debug_shows_no_content() {
    let stored = kept(StatusCode::OK, &[(header::LOCATION, b"/secret")], b"secret", &[]);

    assert_eq!(
        format!("{stored:?}"),
        r#"StoredResponse { status: 200, headers: ["location"], body_bytes: 6 }"#
    );
}

#[test]
fn a_replay_mark_of_the_application_is_not_kept() {
    let stored = kept(StatusCode::OK, &[(IDEMPOTENT_REPLAYED, b"false")], b"", &[IDEMPOTENT_REPLAYED]);

    assert!(!stored.into_response().headers().contains_key(IDEMPOTENT_REPLAYED));
}

#[test]
fn a_replay_is_marked_and_a_first_answer_only_on_request() {
    let marker = Marker::default();
    assert_eq!(marker.value(true).expect("a mark"), "true");
    assert_eq!(marker.value(false), None);

    let on_both = Marker { is_on_first: true, ..Marker::default() };
    assert_eq!(on_both.value(true).expect("a mark"), "true");
    assert_eq!(on_both.value(false).expect("a mark"), "false");
}

#[test]
fn a_header_with_a_meaning_of_its_own_is_no_marker() {
    let is_free = |name: &'static str| {
        let marker = Marker { name: HeaderName::from_static(name), ..Marker::default() };
        marker.is_free(&ReplayHeaders::Built([X_TOTAL].into()))
    };
    for name in ["idempotent-replayed", "x-replayed", "idempotency-replay"] {
        assert!(is_free(name), "{name}");
    }
    for name in [
        "content-type",
        "location",
        "set-cookie",
        "date",
        "content-length",
        "x-request-id",
        "idempotency-key",
        "retry-after",
        "vary",
        "access-control-allow-origin",
        "x-total",
    ] {
        assert!(!is_free(name), "{name}");
    }
}
