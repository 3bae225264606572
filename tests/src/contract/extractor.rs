//! What the handler's extractors refuse never touches a key.

use axum::extract::DefaultBodyLimit;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::{Answer, r1};
use crate::same::{assert_ran, assert_replays};

/// Asserts that axum refused, in its own words.
#[track_caller]
fn assert_refused_by_axum(answer: &Answer, status: u16) {
    assert_ran(answer, status);
    assert_eq!(answer.field("content-type"), Some("text/plain; charset=utf-8"));
    assert!(!answer.text().contains("idempotency_"), "{}", answer.text());
}

// Cases: T-17
// Reports: B20, B31
pub async fn a_body_that_axum_refuses_leaves_the_key_unused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    assert_refused_by_axum(&server.send(&r1().body(r#"{"item":"tea""#)).await, 400);
    assert_refused_by_axum(&server.send(&r1().body(r#"{"item":1}"#)).await, 422);
    assert_refused_by_axum(&server.send(&r1().without("Content-Type")).await, 415);
    assert_eq!(server.runs(), 0);
    bench.assert_holds(0, 0).await;

    assert_ran(&server.send(&r1()).await, 201);
    bench.assert_holds(1, 1).await;
}

// Cases: T-18
// Reports: B49
pub async fn a_body_over_the_limit_leaves_the_key_unused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().wrap(|router| router.layer(DefaultBodyLimit::max(1024))).start().await;
    let item = "x".repeat(1024);

    let refused = server.send(&r1().body(format!(r#"{{"item":"{item}","qty":1}}"#))).await;

    assert_refused_by_axum(&refused, 413);
    bench.assert_holds(0, 0).await;
}

// Cases: T-19
pub async fn a_body_that_axum_refuses_is_refused_on_a_completed_key_too<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1()).await;
    let refused = server.send(&r1().body("{")).await;
    let again = server.send(&r1()).await;

    assert_refused_by_axum(&refused, 400);
    assert_replays(&first, &again);
}
