//! What a library error looks like, and that it changes nothing.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse;

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::{Answer, Request, r1};
use crate::problem::{assert_key_invalid, assert_problem};
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Script;

/// The four refusals that a client can bring about by itself, in this order: no key, a malformed key, a key
/// that is in use, a key that was used for something else.
async fn refusals<DB: TestDatabase>(bench: &Bench<DB>, change: impl Fn(Request) -> Request) -> [Answer; 4] {
    let server = bench.start().await;
    let slow = change(r1().path("/slow").fresh_key());

    let first = server.open_up_to_the_gate(&slow).await;
    let in_progress = server.send(&slow).await;
    server.gate().open();
    assert_ran(&first.answer().await, 201);

    [
        server.send(&change(r1().without("Idempotency-Key"))).await,
        server.send(&change(r1().key("\"k-0001"))).await,
        in_progress,
        server.send(&slow.body(r#"{"item":"tea","qty":2}"#)).await,
    ]
}

#[track_caller]
fn assert_refusals([missing, invalid, in_progress, reused]: &[Answer; 4]) {
    assert_problem(missing, "idempotency_key_missing");
    assert_key_invalid(invalid, "syntax");
    assert_problem(in_progress, "idempotency_in_progress");
    assert_problem(reused, "idempotency_key_reused");
}

// Cases: E-01, E-09
// Reports: B62
pub async fn a_refusal_is_a_problem_document<DB: TestDatabase>(bench: &Bench<DB>) {
    let answers = refusals(bench, |request| request).await;

    assert_refusals(&answers);
    let retry_after = answers.each_ref().map(|answer| answer.field("retry-after"));
    assert_eq!(retry_after, [None, None, Some("1"), None]);
}

// Cases: E-03
// Reports: B62
pub async fn the_type_of_each_refusal_is_its_own<DB: TestDatabase>(bench: &Bench<DB>) {
    let answers = refusals(bench, |request| request).await;

    let types = answers.map(|answer| answer.json()["type"].to_string());
    for (index, one) in types.iter().enumerate() {
        assert!(!types[..index].contains(one), "{one} twice in {types:?}");
    }
}

// Cases: E-03
pub async fn the_base_of_the_types_is_the_applications<DB: TestDatabase>(bench: &Bench<DB>) {
    let server =
        bench.server().engine(|builder| builder.problem_base("https://api.test/problems/")).start().await;

    let answer = server.send(&r1().without("Idempotency-Key")).await;

    assert_eq!(answer.json()["type"], "https://api.test/problems/key-missing");
}

// Cases: E-04
pub async fn a_refusal_is_a_problem_document_whatever_is_accepted<DB: TestDatabase>(bench: &Bench<DB>) {
    let answers = refusals(bench, |request| request.field("Accept", "application/json")).await;

    assert_refusals(&answers);
}

// Cases: E-10
// Reports: B67
pub async fn no_refusal_says_the_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let slow = r1().path("/slow").key("\"a-secret-key\"");
    let mut answers = Vec::new();

    let first = server.open_up_to_the_gate(&slow).await;
    answers.push(server.send(&slow).await);
    server.gate().open();
    assert_ran(&first.answer().await, 201);
    answers.push(server.send(&slow.clone().body(r#"{"item":"tea","qty":2}"#)).await);
    answers.push(server.send(&slow.clone().key("\"a-secret-key")).await);
    answers.push(server.send(&slow.field("Idempotency-Key", "\"a-secret-key\"")).await);

    for answer in answers {
        assert!((400..500).contains(&answer.status));
        assert!(!format!("{answer:?}").contains("a-secret-key"), "{answer:?}");
        assert!(!answer.text().contains("a-secret-key"), "{answer:?}");
    }
}

// Cases: E-07
pub async fn a_refusal_leaves_the_key_as_it_was<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let first = server.send(&r1()).await;
    let row = bench.key_row().await;

    assert_problem(&server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await, "idempotency_key_reused");
    assert_problem(&server.send(&r1().without("Idempotency-Key")).await, "idempotency_key_missing");
    assert_key_invalid(&server.send(&r1().field("Idempotency-Key", "k-0001")).await, "multiple");

    assert_eq!(bench.key_row().await, row);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}

// Cases: E-01, E-07, E-09
pub async fn a_failure_of_the_library_leaves_the_key_unused<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| match run {
        1 => Ok(vec![b'x'; 100].into_response()),
        _ => Ok(StatusCode::CREATED.into_response()),
    });
    let server =
        bench.server().routes(script.routes()).engine(|builder| builder.max_response(99)).start().await;

    let failed = server.send(&r1()).await;

    assert_problem(&failed, "idempotency_response_not_storable");
    bench.assert_holds(0, 0).await;
    assert_ran(&server.send(&r1()).await, 201);
    bench.assert_holds(1, 1).await;
}

// Cases: E-01, E-09
pub async fn a_row_without_an_answer_must_be_reconciled<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    assert_ran(&server.send(&r1()).await, 201);

    let table = bench.place.key_table();
    let unfinished =
        "response_status = NULL, response_headers = NULL, response_body = NULL, completed_at = NULL";
    bench.place.execute(&format!("UPDATE {table} SET {unfinished}")).await;
    let answers = [server.send(&r1()).await, server.send(&r1()).await];

    for answer in answers {
        assert_problem(&answer, "idempotency_needs_reconciliation");
    }
    assert_eq!(server.runs(), 1);
}

// Cases: E-01, E-09
pub async fn a_drained_engine_refuses_new_keys<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    server.app.idempotency.drain(Duration::from_secs(5)).await;
    let answer = server.send(&r1()).await;

    assert_problem(&answer, "idempotency_store_unavailable");
    assert_eq!(server.runs(), 0);
    bench.assert_holds(0, 0).await;
}

// Cases: E-08
pub async fn the_applications_errors_are_its_own<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    for (path, status, body) in [
        ("/err", 422, r#"{"error":"out_of_stock"}"#),
        ("/declined", 402, r#"{"reason":"card_declined"}"#),
        ("/boom", 500, r#"{"error":"boom"}"#),
    ] {
        let first = server.send(&r1().path(path)).await;
        let again = server.send(&r1().path(path)).await;

        assert_ran(&first, status);
        for answer in [&first, &again] {
            assert_eq!(answer.text(), body);
            assert_eq!(answer.field("content-type"), Some("application/json"));
        }
    }
}
