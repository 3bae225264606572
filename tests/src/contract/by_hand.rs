//! Operations that are described by hand, and what they can say that the reference application does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use idem_examples::reference::{App, NewOrder, TenantId, insert_order};
use idem_runtime::{Execution, Guard, RecordRule};

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::hand::Hand;
use crate::http::r1;
use crate::problem::{assert_key_invalid, assert_problem};
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Outcome;

/// A run that says which one it is.
#[expect(clippy::unnecessary_wraps, reason = "a `Hand` asks for it")]
fn created(run: usize, _: &Execution) -> Outcome {
    Ok((StatusCode::CREATED, run.to_string()).into_response())
}

// Cases: R-01, F-01, H-07
pub async fn an_operation_by_hand_is_as_an_annotated_handler<DB: TestDatabase>(bench: &Bench<DB>) {
    let hand = Hand::new(created);
    let server = bench.server().routes(hand.routes()).start().await;

    let first = server.send(&r1()).await;
    let replay = server.send(&r1()).await;
    let other = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;
    let without = server.send(&r1().without("Idempotency-Key")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &replay);
    assert_problem(&other, "idempotency_key_reused");
    assert_problem(&without, "idempotency_key_missing");
    assert_eq!(hand.runs(), 1);
    bench.assert_holds(1, 1).await;
    assert_eq!(bench.key_row().await.scope, "tenant=t1&endpoint=POST%20/orders");
}

// Cases: H-31
pub async fn a_key_that_may_be_left_out_protects_where_it_is_sent<DB: TestDatabase>(bench: &Bench<DB>) {
    let hand = Hand::new(created).described(|operation, _| operation.required(false));
    let server = bench.server().routes(hand.routes()).start().await;
    let without = r1().without("Idempotency-Key");

    assert_ran(&server.send(&without).await, 201);
    assert_ran(&server.send(&without).await, 201);
    bench.assert_holds(0, 2).await;

    let first = server.send(&r1()).await;
    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 3).await;
}

// Cases: H-32
pub async fn a_malformed_key_is_refused_even_if_it_may_be_left_out<DB: TestDatabase>(bench: &Bench<DB>) {
    let hand = Hand::new(created).described(|operation, _| operation.required(false));
    let server = bench.server().routes(hand.routes()).start().await;

    assert_key_invalid(&server.send(&r1().key("\"a")).await, "syntax");

    assert_eq!(hand.runs(), 0);
    bench.assert_holds(0, 0).await;
}

// Cases: H-35
pub async fn a_field_of_the_body_may_be_the_key<DB: TestDatabase>(bench: &Bench<DB>) {
    let hand = Hand::new(created).described(|operation, order| operation.key(&order.order_no));
    let server = bench.server().routes(hand.routes()).start().await;
    let request = r1().without("Idempotency-Key");
    let order =
        |number: &str| request.clone().body(format!(r#"{{"item":"tea","qty":1,"order_no":{number}}}"#));

    let first = server.send(&order(r#""n-1""#)).await;
    let again = server.send(&order(r#""n-1""#)).await;
    // The header is not looked at.
    let with_header = server.send(&order(r#""n-1""#).key("\"k-0002\"")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_replays(&first, &with_header);
    bench.assert_holds(1, 1).await;
    assert_eq!(bench.key_row().await.key, "n-1");

    let missing = server.send(&order("null")).await.json();
    assert_eq!(missing["code"], "idempotency_key_missing");
    assert_eq!(
        missing["detail"],
        "This operation requires an idempotency key, which is a field of the request."
    );
    let invalid = server.send(&order(r#""ö""#)).await.json();
    assert_eq!(
        (&invalid["code"], &invalid["reason"]),
        (&"idempotency_key_invalid".into(), &"not_ascii".into())
    );
}

/// A handler whose operation has a name of its own.
async fn named<DB: TestDatabase>(
    guard: Guard<DB>,
    tenant: TenantId,
    Extension(runs): Extension<Arc<AtomicUsize>>,
    Json(order): Json<NewOrder>,
) -> Response {
    let operation =
        guard.by_hand_as("orders.create").scope("tenant", &tenant).endpoint().fingerprint(&Json(&order));
    let work = operation.run(move |tx, _| {
        Box::pin(async move {
            runs.fetch_add(1, Ordering::SeqCst);
            insert_order::<DB>(&mut *tx, &tenant, &order)
                .await
                .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
            Ok::<_, StatusCode>((StatusCode::CREATED, "created"))
        })
    });
    work.await
}

// Cases: S-10
pub async fn a_name_of_its_own_survives_another_route<DB: TestDatabase>(bench: &Bench<DB>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let at = |path: &str| {
        Router::<App<DB>>::new().route(path, post(named::<DB>)).layer(Extension(Arc::clone(&runs)))
    };
    let before = bench.server().routes(at("/orders")).start().await;
    let after = bench.server().routes(at("/v2/orders")).start().await;

    let first = before.send(&r1()).await;
    let moved = after.send(&r1().path("/v2/orders")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &moved);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(bench.key_row().await.scope, "tenant=t1&endpoint=orders.create");
}

// Cases: T-02, X-08
pub async fn the_options_of_an_operation_are_its_own<DB: TestDatabase>(bench: &Bench<DB>) {
    let hand = Hand::new(|run, execution| match run {
        1 => Err(StatusCode::CONFLICT.into_response()),
        _ => created(run, execution),
    })
    .described(|operation, _| operation.record(RecordRule::Success).ttl(Duration::from_millis(90_001)));
    let server = bench.server().routes(hand.routes()).start().await;

    assert_ran(&server.send(&r1()).await, 409);
    let first = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    assert_eq!(bench.key_row().await.ttl_secs(), 91, "rounded up");
}

// Cases: X-08
pub async fn a_ttl_out_of_range_counts_as_the_nearest_within<DB: TestDatabase>(bench: &Bench<DB>) {
    const TEN_YEARS: i64 = 10 * 365 * 86_400;

    for (ttl, secs) in [(Duration::MAX, TEN_YEARS), (Duration::ZERO, 1)] {
        let hand = Hand::new(created).described(move |operation, _| operation.ttl(ttl));
        let server = bench.server().routes(hand.routes()).start().await;

        assert_ran(&server.send(&r1().fresh_key()).await, 201);

        let newest = bench.key_rows().await.into_iter().last().expect("a key row");
        assert_eq!(newest.ttl_secs(), secs, "{ttl:?}");
    }
}

// Cases: S-08
pub async fn a_global_key_with_other_parts_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let hand = Hand::new(created).described(|operation, _| operation.global());
    let server = bench.server().routes(hand.routes()).start().await;

    assert_problem(&server.send(&r1()).await, "idempotency_scope_unresolved");

    assert_eq!(hand.runs(), 0);
    bench.assert_holds(0, 0).await;
}
