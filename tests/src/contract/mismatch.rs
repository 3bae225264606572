//! The same key with a different request is refused.

use axum::extract::Query;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use idem_examples::reference::{AppError, NewOrder, TenantId, insert_order};
use idem_runtime::idempotent;
use serde::{Deserialize, Serialize};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::{Request, r1};
use crate::patience::soon;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};

/// The body of R1 with another quantity.
const OTHER_BODY: &str = r#"{"item":"tea","qty":2}"#;

// Cases: F-01
pub async fn another_body_is_refused_and_changes_nothing<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1()).await;
    let row = bench.key_row().await;
    let other = server.send(&r1().body(OTHER_BODY)).await;

    assert_ran(&first, 201);
    assert_problem(&other, "idempotency_key_reused");
    assert_eq!(server.runs(), 1);
    assert_eq!(bench.key_row().await, row);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}

// Two keys with one row id do not happen; if they did, the second would be refused and not answered from the first.
pub async fn a_row_of_another_scope_or_key_under_the_same_id_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    assert_ran(&server.send(&r1()).await, 201);
    let row = bench.key_row().await;

    for (column, own, other) in
        [("scope", &row.scope, "tenant=t2&endpoint=POST%20/orders"), ("key", &row.key, "k-0002")]
    {
        let table = bench.place.key_table();
        bench.place.execute(&format!("UPDATE {table} SET {column} = '{other}'")).await;
        assert_problem(&server.send(&r1()).await, "idempotency_key_reused");
        bench.place.execute(&format!("UPDATE {table} SET {column} = '{own}'")).await;
    }

    assert_eq!(server.runs(), 1);
    assert_eq!(bench.key_row().await, row);
    assert!(server.send(&r1()).await.is_replay());
}

// Cases: F-02
pub async fn another_body_is_refused_while_the_first_runs<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let slow = r1().path("/slow");

    let first = server.open_up_to_the_gate(&slow).await;
    let other = server.send(&slow.clone().body(OTHER_BODY)).await;
    server.gate().open();

    assert_problem(&other, "idempotency_key_reused");
    assert_ran(&first.answer().await, 201);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
}

// Cases: F-02
pub async fn another_body_in_another_process_is_refused_once_the_first_is_known<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let (one, two) = (bench.start().await, bench.start().await);
    let slow = r1().path("/slow");
    let other = slow.clone().body(OTHER_BODY);

    let first = one.open_up_to_the_gate(&slow).await;
    let meanwhile = two.open(&other).await;
    if DB::WRITES_IN_PARALLEL {
        // The row cannot be seen yet, so nobody knows the first body.
        assert_problem(&meanwhile.answer().await, "idempotency_in_progress");
        one.gate().open();
    } else {
        // A second process waits for the file.
        one.gate().open();
        assert_problem(&meanwhile.answer().await, "idempotency_key_reused");
    }
    assert_ran(&first.answer().await, 201);

    assert_problem(&two.send(&other).await, "idempotency_key_reused");
    assert_eq!(two.runs(), 0);
    bench.assert_holds(1, 1).await;
}

// Cases: F-05
pub async fn the_refusal_says_nothing_of_the_first_request<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let secret = r#"{"item":"a-secret-item","qty":1}"#;

    let first = server.send(&r1().key("\"a-secret-key\"").body(secret)).await;
    let other = server.send(&r1().key("\"a-secret-key\"").body(OTHER_BODY)).await;

    assert_ran(&first, 201);
    assert_problem(&other, "idempotency_key_reused");
    let said = format!("{other:?}{}", other.text());
    let fingerprint = bench.key_row().await.fingerprint;
    let half = fingerprint.first_chunk().expect("a fingerprint of 32 bytes");
    let hex = format!("{:032x}", u128::from_be_bytes(*half));
    for secret in ["a-secret", "/orders/", &hex, &hex.to_uppercase()] {
        assert!(!said.contains(secret), "{secret} in {said}");
    }
}

fn charge(target: &str) -> Request {
    r1().path(target).body(r#"{"amount":100}"#)
}

// Cases: F-06
pub async fn another_path_parameter_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&charge("/accounts/1/charges")).await;
    let other = server.send(&charge("/accounts/2/charges")).await;

    assert_ran(&first, 201);
    assert_problem(&other, "idempotency_key_reused");
    assert_replays(&first, &server.send(&charge("/accounts/1/charges")).await);
    assert_eq!(bench.count("charges").await, 1);
}

// Cases: F-07
// Reports: B54
pub async fn another_query_is_refused<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&charge("/accounts/1/charges?dry=0")).await;
    let other = server.send(&charge("/accounts/1/charges?dry=1")).await;

    assert_ran(&first, 201);
    assert_problem(&other, "idempotency_key_reused");
    assert_eq!(bench.count("charges").await, 1);
}

#[derive(Deserialize, Serialize)]
struct Pair {
    a: String,
    b: u8,
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn with_query<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Query(pair): Query<Pair>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, String), AppError> {
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    Ok((StatusCode::CREATED, format!("{} {}", pair.a, pair.b)))
}

// Cases: F-08
// Reports: B54
pub async fn a_query_is_compared_as_it_is_read<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::new().route("/orders", post(with_query::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1().path("/orders?a=%41&b=1")).await;
    let again = server.send(&r1().path("/orders?b=1&a=A")).await;
    let other = server.send(&r1().path("/orders?b=1&a=B")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_problem(&other, "idempotency_key_reused");
}

// Cases: F-09
pub async fn the_media_type_of_raw_bytes_is_not_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let bytes = r1().path("/bytes");

    let first = server.send(&bytes).await;
    let again = server.send(&bytes.set("Content-Type", "application/merge-patch+json")).await;

    assert_ran(&first, 200);
    assert_replays(&first, &again);
}

// Cases: F-10
pub async fn the_parameters_of_the_media_type_are_not_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let first = server.send(&r1()).await;
    let again = server.send(&r1().set("Content-Type", "application/json; charset=utf-8")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
}

// Cases: F-11
pub async fn credentials_and_traces_are_not_compared<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let with = |number: &str| {
        r1().field("Authorization", format!("Bearer token-{number}"))
            .field("traceparent", format!("00-4bf92f3577b34da6a3ce929d0e0e473{number}-00f067aa0ba902b7-01"))
            .field("Date", format!("Sun, 06 Nov 1994 08:49:3{number} GMT"))
    };

    let first = server.send(&with("1")).await;
    let again = server.send(&with("2")).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
}

// Cases: F-01
pub async fn two_bodies_at_once_are_one_order_and_one_refusal<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    for round in 0..10 {
        let one = r1().key(format!("\"k-{round}\""));
        let other = one.clone().body(OTHER_BODY);
        let (one, other) = soon(async { tokio::join!(server.send(&one), server.send(&other)) }).await;

        let (ran, refused) = if one.status == 201 { (one, other) } else { (other, one) };
        assert_ran(&ran, 201);
        assert_problem(&refused, "idempotency_key_reused");
    }
    bench.assert_holds(10, 10).await;
}
