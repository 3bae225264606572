//! A replay is the representation that was stored, not one that is made again.

#![expect(clippy::result_large_err, reason = "handlers answer with whole responses, failed or not")]

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, Html, IntoResponse, Redirect, Response};
use bytes::Bytes;
use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::r1;
use idem_tests::on_both_databases;
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::scripted::Script;

// Reports: B06
async fn a_problem_document_is_replayed_as_it_is_whatever_the_retry_accepts<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    const PROBLEM: &str = r#"{"type":"https://api.test/problems/out-of-stock","status":409}"#;
    let script =
        Script::ok(|| (StatusCode::CONFLICT, [(header::CONTENT_TYPE, "application/problem+json")], PROBLEM));
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1().field("Accept", "application/json")).await;

    assert_ran(&first, 409);
    for accepted in ["application/xml", "text/html, */*;q=0.1", "application/problem+xml"] {
        let again = server.send(&r1().field("Accept", accepted)).await;

        assert_replays(&first, &again);
        assert_eq!(again.text(), PROBLEM);
        assert_eq!(again.values("content-type").collect::<Vec<_>>(), [b"application/problem+json"]);
    }
    assert_eq!(script.runs(), 1);
}

/// Answers of every media type that is not JSON, by the number of the run.
fn of_every_media_type(run: usize) -> Option<Response> {
    let answers: [fn() -> Response; 6] = [
        || "plain text".into_response(),
        || Html("<p>tea</p>").into_response(),
        || Bytes::from_static(&[0x00, 0xff, 0x0d, 0x0a]).into_response(),
        || Redirect::to("/orders/1").into_response(),
        || ().into_response(),
        || ([(header::CONTENT_DISPOSITION, "attachment; filename=\"tea.csv\"")], "tea;1\r\n").into_response(),
    ];
    answers.get(run - 1).map(|answer| answer())
}

// Reports: B21
async fn an_answer_of_any_media_type_is_replayed_byte_for_byte<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| Ok(of_every_media_type(run).expect("a run for each answer")));
    let server = bench.server().routes(script.routes()).start().await;

    for number in 1.. {
        let Some(expected) = of_every_media_type(number) else { break };
        let request = r1().key(format!("\"k-{number}\""));
        let first = server.send(&request).await;

        assert_ran(&first, expected.status().as_u16());
        assert_replays(&first, &server.send(&request).await);
    }
    bench.assert_holds(6, 6).await;
}

// Reports: B51
async fn headers_that_describe_the_answer_are_replayed_with_their_number<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let answered = || {
        AppendHeaders([
            (header::LOCATION, HeaderValue::from_static("/orders/1")),
            (header::ETAG, HeaderValue::from_static("\"v1\"")),
            (header::LINK, HeaderValue::from_static("</orders/1/items>; rel=items")),
            (header::LINK, HeaderValue::from_static("</orders/1/payer>; rel=payer")),
            (header::VARY, HeaderValue::from_static("accept-language")),
            (header::VARY, HeaderValue::from_static("prefer")),
            (header::SET_COOKIE, HeaderValue::from_static("session=secret")),
            (header::DATE, HeaderValue::from_static("Tue, 01 Jan 2030 00:00:00 GMT")),
            (HeaderName::from_static("x-request-id"), HeaderValue::from_static("request-1")),
            (header::CONNECTION, HeaderValue::from_static("close")),
        ])
    };
    let script = Script::ok(move || (StatusCode::CREATED, answered(), "made"));
    // Whether an answer varies is often said by layers, so `Vary` is replayed where the application asks for it.
    let server = bench
        .server()
        .routes(script.routes())
        .engine(|builder| builder.replay_headers([header::VARY]))
        .start()
        .await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    for (name, values) in [("location", 1), ("etag", 1), ("link", 2), ("vary", 2)] {
        let replayed = again.values(name).collect::<Vec<_>>();
        assert_eq!(replayed, first.values(name).collect::<Vec<_>>(), "{name}");
        assert_eq!(replayed.len(), values, "{name}");
    }
    for (name, value) in [("set-cookie", "session=secret"), ("x-request-id", "request-1")] {
        assert_eq!((first.field(name), again.field(name)), (Some(value), None));
    }
    assert_ne!(again.field("date"), first.field("date"));
}

// Reports: B57
async fn bytes_that_no_json_column_would_keep_are_replayed<DB: TestDatabase>(bench: &Bench<DB>) {
    let bodies: [&[u8]; 6] = [
        br#"{"b":1.0,"a":1,"b":2}"#,
        b"{ \"a\" :\t1 ,\r\n\"a\":  1 }",
        br#"{"text":"\u0000","raw":"\ud800"}"#,
        b"{\"text\":\"\x00\"}",
        b"{\"text\":\"\xc3\x28\xff\"}",
        b"\xef\xbb\xbf[1e400, -0, 12345678901234567890123456789.10]\n",
    ];
    let script = Script::new(move |run| {
        Ok(([(header::CONTENT_TYPE, "application/json")], bodies[run - 1]).into_response())
    });
    let server = bench.server().routes(script.routes()).start().await;

    for (number, body) in bodies.into_iter().enumerate() {
        let request = r1().key(format!("\"k-{number}\""));
        let first = server.send(&request).await;
        let again = server.send(&request).await;

        assert_eq!(first.body, body);
        assert_eq!(again.body, body);
        assert_replays(&first, &again);
    }
    bench.assert_holds(6, 6).await;
}

on_both_databases! {
    a_problem_document_is_replayed_as_it_is_whatever_the_retry_accepts
    an_answer_of_any_media_type_is_replayed_byte_for_byte
    headers_that_describe_the_answer_are_replayed_with_their_number
    bytes_that_no_json_column_would_keep_are_replayed
}
