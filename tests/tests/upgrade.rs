//! Connections that become something else than HTTP.

use axum::http::{HeaderName, StatusCode, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use idem_tests::bench::Bench;
use idem_tests::database::TestDatabase;
use idem_tests::http::{Request, r1};
use idem_tests::on_both_databases;
use idem_tests::problem::assert_problem;
use idem_tests::same::assert_ran;
use idem_tests::scripted::Script;

/// What a WebSocket route answers to a handshake.
async fn feed() -> (StatusCode, [(HeaderName, &'static str); 2]) {
    (StatusCode::SWITCHING_PROTOCOLS, [(header::CONNECTION, "upgrade"), (header::UPGRADE, "websocket")])
}

// Reports: U06
async fn an_upgrade_beside_annotated_routes_ignores_the_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().wrap(|router| router.route("/feed", get(feed))).start().await;
    // `Connection: close` is the test client's own, so the list has two lines.
    let handshake = Request::new("GET", "/feed")
        .field("X-Tenant", "t1")
        .field("Connection", "Upgrade")
        .field("Upgrade", "websocket")
        .field("Sec-WebSocket-Version", "13")
        .field("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        .key("\"k-0001\"");

    for _ in 0..2 {
        let answer = server.send(&handshake).await;

        assert_ran(&answer, 101);
        assert_eq!(answer.field("upgrade"), Some("websocket"));
    }
    assert_eq!(bench.key_rows().await, []);
}

// Reports: U06
async fn an_annotated_handler_that_answers_101_is_rolled_back<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::ok(|| StatusCode::SWITCHING_PROTOCOLS.into_response());
    let server = bench.server().routes(script.routes()).start().await;

    for _ in 0..2 {
        assert_problem(&server.send(&r1()).await, "idempotency_response_not_storable");
    }
    assert_eq!(script.runs(), 2);
    bench.assert_holds(0, 0).await;
}

on_both_databases! {
    an_upgrade_beside_annotated_routes_ignores_the_key
    an_annotated_handler_that_answers_101_is_rolled_back
}
