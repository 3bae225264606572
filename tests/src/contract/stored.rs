//! Which answers are stored, and which are not.

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::r1;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Script;

// Cases: R-07
pub async fn an_answer_marked_keep_writes_commits_them<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1().path("/declined")).await;
    let again = server.send(&r1().path("/declined")).await;

    assert_ran(&first, 402);
    assert_eq!(first.text(), r#"{"reason":"card_declined"}"#);
    assert_replays(&first, &again);
    assert_eq!(server.runs(), 1);
    assert_eq!(bench.count("audit").await, 1);
    bench.assert_holds(1, 0).await;
}

// Cases: R-07
pub async fn an_answer_of_400_and_above_is_stored_without_its_writes<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::ok(|| (StatusCode::PAYMENT_REQUIRED, "card_declined"));
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_ran(&first, 402);
    assert_replays(&first, &again);
    assert_eq!(script.runs(), 1);
    bench.assert_holds(1, 0).await;
}

// Cases: R-08
// Reports: B30
pub async fn an_err_that_answers_500_is_not_stored<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::err(|| (StatusCode::INTERNAL_SERVER_ERROR, "lost the warehouse"));
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_ran(&first, 500);
    assert_ran(&again, 500);
    assert_eq!(again.text(), "lost the warehouse");
    assert_eq!(script.runs(), 2);
    bench.assert_holds(0, 0).await;
}

// Cases: R-08
pub async fn record_all_stores_an_err_that_answers_500<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::err(|| (StatusCode::INTERNAL_SERVER_ERROR, "lost the warehouse"));
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1().path("/all")).await;
    let again = server.send(&r1().path("/all")).await;

    assert_ran(&first, 500);
    assert_replays(&first, &again);
    assert_eq!(script.runs(), 1);
    bench.assert_holds(1, 0).await;
}

// Cases: R-09
// Reports: B30
pub async fn a_500_that_the_handler_decided_on_is_replayed<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1().path("/boom")).await;
    let again = server.send(&r1().path("/boom")).await;

    assert_ran(&first, 500);
    assert_eq!(first.text(), r#"{"error":"boom"}"#);
    assert_replays(&first, &again);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 0).await;
}

// Cases: R-10
// Reports: B31, B62
pub async fn an_err_below_500_is_replayed<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1().path("/err")).await;
    let again = server.send(&r1().path("/err")).await;

    assert_ran(&first, 422);
    assert_eq!(first.text(), r#"{"error":"out_of_stock"}"#);
    assert_replays(&first, &again);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 0).await;
}

// Cases: R-10
// Reports: B31
pub async fn record_success_stores_no_failure<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::err(|| (StatusCode::UNPROCESSABLE_ENTITY, "out of stock"));
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1().path("/success")).await;
    let again = server.send(&r1().path("/success")).await;

    assert_ran(&first, 422);
    assert_ran(&again, 422);
    assert_eq!(script.runs(), 2);
    bench.assert_holds(0, 0).await;
}

// Cases: R-11
// Reports: B30
pub async fn not_now_and_not_you_are_not_stored<DB: TestDatabase>(bench: &Bench<DB>) {
    let refusals = [401, 403, 408, 425, 429, 502, 503, 504];
    let statuses = refusals.map(|code| StatusCode::from_u16(code).expect("a status"));
    let script = Script::new(move |run| {
        let answer = match run.checked_sub(1).map(|refused| statuses.get(refused / 2).copied()) {
            // Every refusal once, then an order that succeeds.
            Some(Some(status)) if run % 2 == 1 => status.into_response(),
            _ => StatusCode::CREATED.into_response(),
        };
        Ok(answer)
    });
    let server = bench.server().routes(script.routes()).start().await;

    for (number, status) in refusals.into_iter().enumerate() {
        let request = r1().key(format!("\"k-{status}\""));
        let refused = server.send(&request).await;
        let orders = i64::try_from(number).expect("a small number");
        bench.assert_holds(number, orders).await;
        let accepted = server.send(&request).await;

        assert_ran(&refused, status);
        assert_ran(&accepted, 201);
        assert_replays(&accepted, &server.send(&request).await);
    }
    bench.assert_holds(refusals.len(), 8).await;
}

// Cases: R-11
pub async fn a_failure_with_retry_after_is_not_stored<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| match run {
        1 => Ok((StatusCode::CONFLICT, [(header::RETRY_AFTER, "1")]).into_response()),
        2 => Err((StatusCode::UNPROCESSABLE_ENTITY, [(header::RETRY_AFTER, "1")]).into_response()),
        _ => Ok(StatusCode::CREATED.into_response()),
    });
    let server = bench.server().routes(script.routes()).start().await;

    assert_ran(&server.send(&r1()).await, 409);
    assert_ran(&server.send(&r1()).await, 422);
    bench.assert_holds(0, 0).await;
    let accepted = server.send(&r1()).await;

    assert_ran(&accepted, 201);
    bench.assert_holds(1, 1).await;
}

// Cases: R-16
pub async fn a_response_over_the_limit_is_rolled_back<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| Ok(vec![b'x'; if run == 1 { 1025 } else { 1024 }].into_response()));
    let server =
        bench.server().routes(script.routes()).engine(|builder| builder.max_response(1024)).start().await;

    let too_large = server.send(&r1()).await;
    bench.assert_holds(0, 0).await;
    let just_right = server.send(&r1()).await;

    assert_problem(&too_large, "idempotency_response_not_storable");
    assert_ran(&just_right, 200);
    assert_eq!(just_right.body.len(), 1024);
    bench.assert_holds(1, 1).await;
}

// Cases: R-21
// Reports: B21
pub async fn a_redirect_is_replayed<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::ok(|| (StatusCode::SEE_OTHER, [(header::LOCATION, "/receipts/1")]));
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_ran(&first, 303);
    assert_eq!(again.field("location"), Some("/receipts/1"));
    assert_replays(&first, &again);
    bench.assert_holds(1, 1).await;
}

// Cases: R-22
pub async fn an_accepted_answer_with_retry_after_is_stored<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::ok(|| (StatusCode::ACCEPTED, [(header::RETRY_AFTER, "30")], "queued"));
    let server = bench.server().routes(script.routes()).start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert_ran(&first, 202);
    assert_replays(&first, &again);
    assert_eq!(script.runs(), 1);
    bench.assert_holds(1, 1).await;
}
