//! A retry gets the first answer.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{AppendHeaders, IntoResponse};
use axum::routing::post;
use axum::{Json, Router};
use flate2::read::GzDecoder;
use idem_examples::reference::{NewOrder, TenantId};
use idem_runtime::idempotent;
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::r1;
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Script;

// Cases: R-01
pub async fn a_retry_replays_the_first_answer<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_eq!(first.text(), format!(r#"{{"id":{},"item":"tea","qty":1}}"#, first.id()));
    assert_replays(&first, &again);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Cases: R-02
pub async fn a_hundred_requests_run_once_and_leave_the_row_as_it_was<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1()).await;
    let row = bench.key_row().await;
    for _ in 0..99 {
        assert_replays(&first, &server.send(&r1()).await);
    }

    assert_ran(&first, 201);
    assert_eq!(server.runs(), 1);
    assert_eq!(bench.key_row().await, row);
    bench.assert_holds(1, 1).await;
}

// Cases: R-03
// Reports: B51
pub async fn a_replay_names_the_same_location<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    let location = format!("/orders/{}", first.id());
    assert_eq!(first.field("location"), Some(location.as_str()));
    assert_eq!(again.field("location"), Some(location.as_str()));
    assert_replays(&first, &again);
}

// Cases: R-04
pub async fn an_answer_without_a_body_is_replayed_without_one<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1().path("/empty")).await;
    let again = server.send(&r1().path("/empty")).await;

    assert_ran(&first, 204);
    assert_replays(&first, &again);
    assert_eq!(again.body, b"");
    assert_eq!(again.field("content-type"), None);
    bench.assert_holds(1, 1).await;
}

// Cases: R-05
// Reports: B21
pub async fn a_replay_has_every_byte_of_a_binary_body<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1().path("/bytes")).await;
    let again = server.send(&r1().path("/bytes")).await;

    assert_ran(&first, 200);
    assert_eq!(again.body, (0..=u8::MAX).collect::<Vec<_>>());
    assert_eq!(again.field("content-type"), Some("application/octet-stream"));
    assert_replays(&first, &again);
}

// Cases: R-06
// Reports: B57
pub async fn a_replay_keeps_the_spacing_and_order_of_json<DB: TestDatabase>(bench: &Bench<DB>) {
    const BODY: &str = r#"{ "b":1.0, "a":1 }"#;
    let script = Script::ok(|| ([(header::CONTENT_TYPE, "application/json")], BODY));
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_eq!(first.text(), BODY);
    assert_replays(&first, &again);
}

// Cases: R-12
// Reports: B51
pub async fn only_listed_and_configured_headers_are_replayed<DB: TestDatabase>(bench: &Bench<DB>) {
    const YESTERDAY: &str = "Tue, 01 Jan 2030 00:00:00 GMT";
    let script = Script::ok(|| {
        [("x-request-id", "request-1"), ("date", YESTERDAY), ("x-total", "1"), ("etag", "\"v1\"")]
    });
    let server = bench
        .server()
        .routes(script.routes())
        .engine(|builder| builder.replay_headers(["x-total".parse().expect("a name")]))
        .start()
        .await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_eq!(first.field("x-request-id"), Some("request-1"));
    assert_eq!(again.field("x-request-id"), None);
    assert_ne!(again.field("date"), Some(YESTERDAY));
    assert_eq!(again.field("x-total"), Some("1"));
    assert_replays(&first, &again);
}

// Cases: R-13
// Reports: U02
pub async fn a_cookie_is_not_replayed<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::ok(|| [(header::SET_COOKIE, "session=secret")]);
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_eq!(first.field("set-cookie"), Some("session=secret"));
    assert_eq!(again.field("set-cookie"), None);
    assert_replays(&first, &again);
}

// Cases: R-14
// Reports: U03
pub async fn a_coded_body_is_replayed_in_its_coding<DB: TestDatabase>(bench: &Bench<DB>) {
    // "tea\n", compressed.
    const GZIP: [u8; 24] = [
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x2b, 0x49, 0x4d, 0xe4, 0x02, 0x00, 0xe4,
        0x52, 0x36, 0x17, 0x04, 0x00, 0x00, 0x00,
    ];
    let script = Script::ok(|| ([(header::CONTENT_ENCODING, "gzip")], GZIP));
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_replays(&first, &again);
    for answer in [first, again] {
        assert_eq!(answer.field("content-encoding"), Some("gzip"));
        let mut decoded = String::new();
        GzDecoder::new(&answer.body[..]).read_to_string(&mut decoded).expect("a gzip body");
        assert_eq!(decoded, "tea\n");
    }
}

// Cases: R-15
pub async fn a_replay_shows_the_resource_as_it_was<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1()).await;
    bench.place.execute("UPDATE orders SET item = 'coffee', qty = 7").await;
    let again = server.send(&r1()).await;

    assert_eq!(first.json()["item"], "tea");
    assert_replays(&first, &again);
    let now = server.send(&r1().method("GET")).await;
    assert_eq!(now.json()[0]["item"], "coffee");
}

// Cases: R-17
// Reports: B68
pub async fn a_caller_who_lost_access_gets_no_replay<DB: TestDatabase>(bench: &Bench<DB>) {
    let locked_out = Arc::new(AtomicBool::new(false));
    let guard = Arc::clone(&locked_out);
    let authenticate = move |request: Request, next: Next| {
        let locked_out = guard.load(Ordering::SeqCst);
        async move { if locked_out { StatusCode::UNAUTHORIZED.into_response() } else { next.run(request).await } }
    };
    let server = bench.server().wrap(|router| router.layer(from_fn(authenticate))).start().await;

    let first = server.send(&r1()).await;
    locked_out.store(true, Ordering::SeqCst);
    let refused = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_ran(&refused, 401);
    assert_eq!(refused.body, b"");
}

// Cases: R-18
pub async fn another_process_replays<DB: TestDatabase>(bench: &Bench<DB>) {
    let one = bench.start().await;
    let two = bench.start().await;

    let first = one.send(&r1()).await;
    let again = two.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_eq!((one.runs(), two.runs()), (1, 0));
    bench.assert_holds(1, 1).await;
}

// Cases: R-19
pub async fn a_restarted_process_replays<DB: TestDatabase>(bench: &Bench<DB>) {
    let before = bench.start().await;
    let first = before.send(&r1()).await;
    before.stop().await;

    let after = bench.start().await;
    let again = after.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_eq!(after.runs(), 0);
    bench.assert_holds(1, 1).await;
}

// Cases: R-20
// Reports: B51
pub async fn repeated_headers_are_replayed_in_order_and_as_bytes<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::ok(|| {
        AppendHeaders([
            (header::LINK, HeaderValue::from_static("</b>; rel=next")),
            (header::ETAG, HeaderValue::from_bytes(b"\"\xfc\"").expect("opaque bytes are allowed")),
            (header::LINK, HeaderValue::from_static("</a>; rel=prev")),
        ])
    });
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_eq!(again.values("link").collect::<Vec<_>>(), [b"</b>; rel=next", b"</a>; rel=prev"]);
    assert_eq!(again.values("etag").collect::<Vec<_>>(), [b"\"\xfc\""]);
    assert_replays(&first, &again);
}

/// A handler that returns no `Result`.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn plain_answer<DB: TestDatabase>(
    _tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> impl IntoResponse {
    (StatusCode::CREATED, format!("{} for {}", order.item, tenant.0))
}

// Cases: R-01
pub async fn a_plain_answer_is_replayed<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/orders", post(plain_answer::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_eq!(first.text(), "tea for t1");
    assert_replays(&first, &again);
}
