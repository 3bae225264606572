//! What the builder settles for a whole application.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::{HeaderName, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use axum::{Router, extract};
use idem_runtime::KeyFormat;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::hand::Hand;
use crate::http::r1;
use crate::patience::soon;
use crate::problem::{assert_key_invalid, assert_mismatch, assert_problem};
use crate::same::{assert_ran, assert_replays};

// Cases: F-04
pub async fn a_mismatch_may_have_another_status<DB: TestDatabase>(bench: &Bench<DB>) {
    for (status, retry) in [(StatusCode::CONFLICT, "never"), (StatusCode::BAD_REQUEST, "new_key")] {
        let server = bench.server().engine(move |builder| builder.mismatch(status)).start().await;
        let request = r1().fresh_key();

        let first = server.send(&request).await;
        let other = server.send(&request.clone().body(r#"{"item":"tea","qty":2}"#)).await;

        assert_ran(&first, 201);
        assert_mismatch(&other, status.as_u16(), retry);
        assert_replays(&first, &server.send(&request).await);
    }
}

// Cases: H-33
pub async fn a_key_of_another_format_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().engine(|builder| builder.key_format(KeyFormat::Uuid)).start().await;
    let uuid = r1().key("\"0f2c1f56-0ba4-4a4f-9d3a-6a8e4f6f2b11\"");

    assert_key_invalid(&server.send(&r1().key("\"not-a-uuid\"")).await, "format");
    bench.assert_holds(0, 0).await;
    let first = server.send(&uuid).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&uuid).await);
    assert_eq!(server.runs(), 1);
}

// Cases: H-34
pub async fn another_header_may_hold_the_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let name = HeaderName::from_static("paypal-request-id");
    let server = bench.server().engine(move |builder| builder.header(name)).start().await;
    let request = r1().without("Idempotency-Key").field("PayPal-Request-Id", "k-0001");

    let first = server.send(&request).await;
    let replay = server.send(&request).await;
    let usual = server.send(&r1()).await.json();

    assert_ran(&first, 201);
    assert_replays(&first, &replay);
    assert_eq!(usual["code"], "idempotency_key_missing");
    assert_eq!(usual["detail"], "This operation requires a Paypal-Request-Id header.");
    bench.assert_holds(1, 1).await;
}

// Cases: F-01
pub async fn what_is_not_compared_is_given_the_first_answer<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().engine(|builder| builder.fingerprint(false)).start().await;

    let first = server.send(&r1()).await;
    let other = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;

    assert_ran(&first, 201);
    assert_replays(&first, &other);
    bench.assert_holds(1, 1).await;
}

// Cases: R-01
pub async fn an_engine_that_is_off_runs_every_request<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().engine(|builder| builder.enabled(false)).start().await;

    assert_ran(&server.send(&r1()).await, 201);
    assert_ran(&server.send(&r1()).await, 201);
    assert_ran(&server.send(&r1().key("\"a")).await, 201);
    assert_ran(&server.send(&r1().without("Idempotency-Key")).await, 201);

    bench.assert_holds(0, 4).await;
    // A failure is rolled back as ever.
    assert_ran(&server.send(&r1().path("/err")).await, 422);
    bench.assert_holds(0, 4).await;
}

tokio::task_local! {
    /// What a layer knows of the request.
    static TRACE: String;
}

fn trace() -> String {
    TRACE.try_with(Clone::clone).unwrap_or_default()
}

// Cases: T-08
pub async fn a_task_may_be_given_what_its_request_has<DB: TestDatabase>(bench: &Bench<DB>) {
    let after = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&after);
    let hand = Hand::new(move |run, execution| {
        let after = Arc::clone(&counted);
        execution.after_commit(async move {
            assert_eq!(trace(), "t-1");
            after.fetch_add(1, Ordering::SeqCst);
        });
        assert_ne!(run, 2, "the handler was told to");
        Ok((StatusCode::CREATED, trace()).into_response())
    });
    let layer =
        async |request: extract::Request, next: Next| TRACE.scope("t-1".to_owned(), next.run(request)).await;
    let server = bench
        .server()
        .engine(|builder| builder.wrap_tasks(|task| Box::pin(TRACE.scope(trace(), task))))
        .routes(hand.routes())
        .wrap(move |router: Router| router.layer(from_fn(layer)))
        .start()
        .await;

    let first = server.send(&r1()).await;
    let panicked = server.open(&r1().fresh_key()).await.outcome().await;
    let dropped = soon(server.app.idempotency.drain(Duration::from_secs(20))).await;

    assert_ran(&first, 201);
    assert_eq!(first.text(), "t-1");
    assert_eq!(panicked, None, "a panic goes on in the request's task");
    assert_eq!((after.load(Ordering::SeqCst), dropped), (1, 0));
    assert_problem(&server.send(&r1()).await, "idempotency_store_unavailable");
}
