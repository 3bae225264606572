//! tower-http's layers around annotated handlers: they act on a replay as they do on a first answer, and what they add
//! is not stored.

#![expect(clippy::result_large_err, reason = "handlers answer with whole responses, failed or not")]

use std::time::Duration;

use axum::http::{HeaderName, Method, StatusCode, header};
use axum::response::IntoResponse as _;
use idem_runtime::{REQUEST_HEADERS, RESPONSE_HEADERS};
use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::{Answer, Request, r1};
use idem_tests::on_both_databases;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::scripted::Script;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::cors::CorsLayer;
use tower_http::timeout::TimeoutLayer;

// Reports: B18
async fn a_request_that_times_out_is_finished_and_its_retry_finds_the_answer<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    // Long enough for the other requests, which have to be answered within it.
    let limit = Duration::from_secs(2);
    let layer = TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, limit);
    let server = bench.server().wrap(move |router| router.layer(layer)).start().await;
    let slow = r1().path("/slow");

    let timed_out = server.send(&slow).await;
    let meanwhile = server.send(&slow).await;
    server.gate().open();
    let answer = server.retry(&slow).await;

    assert_ran(&timed_out, 504);
    assert_problem(&meanwhile, "idempotency_in_progress");
    assert_eq!((answer.status, answer.is_replay()), (201, true));
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Reports: B20
async fn a_panic_that_a_layer_catches_leaves_the_key_unused<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| match run {
        1 => panic!("the handler was told to"),
        _ => Ok(StatusCode::CREATED.into_response()),
    });
    let server = bench
        .server()
        .routes(script.routes())
        .wrap(|router| router.layer(CatchPanicLayer::new()))
        .start()
        .await;

    let caught = server.send(&r1()).await;
    bench.assert_holds(0, 0).await;
    let first = server.send(&r1()).await;

    assert_ran(&caught, 500);
    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}

/// The names that a list in a header holds.
fn listed<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    answer.field(name).unwrap_or_default().split(',').map(str::trim).collect()
}

// Reports: B65
async fn a_browser_may_send_the_key_and_read_what_is_said_of_it<DB: TestDatabase>(bench: &Bench<DB>) {
    let application = [header::CONTENT_TYPE, HeaderName::from_static("x-tenant")];
    let cors = CorsLayer::new()
        .allow_origin(["https://shop.test".parse().expect("an origin")])
        .allow_methods([Method::POST])
        .allow_headers(REQUEST_HEADERS.into_iter().chain(application).collect::<Vec<_>>())
        .expose_headers(RESPONSE_HEADERS);
    let server = bench.server().wrap(|router| router.layer(cors)).start().await;
    let preflight = Request::new("OPTIONS", "/orders")
        .field("Origin", "https://shop.test")
        .field("Access-Control-Request-Method", "POST")
        .field("Access-Control-Request-Headers", "content-type,idempotency-key,x-tenant");
    let post = r1().field("Origin", "https://shop.test");

    let allowed = server.send(&preflight).await;
    assert_eq!(bench.key_rows().await, []);
    let first = server.send(&post).await;
    let again = server.send(&post).await;
    let mismatch = server.send(&post.body(r#"{"item":"tea","qty":2}"#)).await;

    assert_ran(&allowed, 200);
    assert!(listed(&allowed, "access-control-allow-headers").contains(&"idempotency-key"), "{allowed:?}");
    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&mismatch, "idempotency_key_reused");
    for answer in [first, again, mismatch] {
        assert_eq!(answer.values("access-control-allow-origin").collect::<Vec<_>>(), [b"https://shop.test"]);
        let exposed = listed(&answer, "access-control-expose-headers");
        assert!(exposed.contains(&"idempotent-replayed") && exposed.contains(&"retry-after"), "{answer:?}");
    }
    bench.assert_holds(1, 1).await;
}

// Reports: U03
async fn each_retry_is_compressed_as_it_accepts_and_none_as_the_first_did<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let text = "tea, and more tea. ".repeat(50);
    let stored = text.clone();
    let script = Script::ok(move || (StatusCode::CREATED, text.clone()));
    let server = bench
        .server()
        .routes(script.routes())
        .wrap(|router| router.layer(CompressionLayer::new()))
        .start()
        .await;
    let gzip = r1().field("Accept-Encoding", "gzip");

    let first = server.send(&gzip).await;
    let plain = server.send(&r1()).await;
    let again = server.send(&gzip).await;

    assert_ran(&first, 201);
    assert_eq!(first.field("content-encoding"), Some("gzip"));
    assert!(first.body.starts_with(&[0x1f, 0x8b]) && first.body.len() < stored.len(), "{first:?}");
    assert_replays(&first, &again);
    assert!(plain.is_replay());
    assert_eq!(plain.field("content-encoding"), None);
    assert_eq!(plain.text(), stored);
    assert_eq!(plain.field("content-length"), Some(&*stored.len().to_string()));
    let row = bench.key_row().await;
    assert_eq!(row.body.as_deref(), Some(stored.as_bytes()), "what the handler said is stored");
    assert_eq!(script.runs(), 1);
}

// Reports: U03
async fn an_answer_that_the_handler_coded_is_not_coded_again<DB: TestDatabase>(bench: &Bench<DB>) {
    // Not Brotli at all: nobody looks into it.
    let coded = vec![0x0b_u8; 500];
    let body = coded.clone();
    let script = Script::ok(move || ([(header::CONTENT_ENCODING, "br")], body.clone()));
    let server = bench
        .server()
        .routes(script.routes())
        .wrap(|router| router.layer(CompressionLayer::new()))
        .start()
        .await;
    let request = r1().field("Accept-Encoding", "gzip, br");

    let first = server.send(&request).await;
    let again = server.send(&request).await;

    assert_ran(&first, 200);
    assert_replays(&first, &again);
    assert_eq!(again.body, coded);
    assert_eq!(again.values("content-encoding").collect::<Vec<_>>(), [b"br"]);
}

on_both_databases! {
    a_request_that_times_out_is_finished_and_its_retry_finds_the_answer
    a_panic_that_a_layer_catches_leaves_the_key_unused
    a_browser_may_send_the_key_and_read_what_is_said_of_it
    each_retry_is_compressed_as_it_accepts_and_none_as_the_first_did
    an_answer_that_the_handler_coded_is_not_coded_again
}
