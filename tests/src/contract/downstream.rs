//! Keys for the calls that a handler makes to other services.

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use idem_runtime::{Execution, IdempotencyKey};

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::hand::Hand;
use crate::http::{Request, r1};
use crate::same::{assert_ran, assert_replays};
use crate::server::Server;

/// A handler that answers the keys it would hand on, the client's own last.
fn telling<DB: TestDatabase>() -> Hand<DB> {
    Hand::new(|_, execution| Ok((StatusCode::CREATED, told(execution)).into_response()))
}

fn told(execution: &Execution) -> String {
    let key = |step| execution.downstream_key(step).unwrap_or_default();
    let own = execution.key().map(IdempotencyKey::as_str).unwrap_or_default();
    [&key("charge"), &key("refund"), own].join(" ")
}

async fn serve<DB: TestDatabase>(bench: &Bench<DB>) -> Server<DB> {
    bench.server().routes(telling::<DB>().routes()).start().await
}

/// The keys of steps `charge` and `refund`, and the client's own.
async fn keys<DB: TestDatabase>(server: &Server<DB>, request: &Request) -> [String; 3] {
    let answer = server.send(request).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let keys = answer.text().splitn(3, ' ').map(str::to_owned).collect::<Vec<_>>();
    keys.try_into().expect("three keys")
}

// Cases: K-01, K-02, K-06, K-07, K-08
pub async fn a_downstream_key_is_the_same_in_every_process<DB: TestDatabase>(bench: &Bench<DB>) {
    let published = "59f0be2908eec67ec9fa1e501924e1290a6542bb2bcc8b670d8d8354caff83a2";
    let (one, two) = (serve(bench).await, serve(bench).await);

    let [charge, refund, own] = keys(&one, &r1()).await;
    bench.expire_in(-1).await;
    let again = keys(&two, &r1()).await;
    let [longest, ..] = keys(&one, &r1().key(format!("\"{}\"", "k".repeat(255)))).await;

    assert_ne!(charge, refund);
    assert_eq!(refund, published);
    assert_eq!(own, "k-0001", "unquoted");
    assert_eq!(again, [charge.clone(), refund, own]);
    for key in [charge, longest] {
        assert!(
            key.len() == 64 && key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
            "{key}"
        );
    }
}

// Cases: K-03
pub async fn two_tenants_with_one_key_do_not_meet_downstream<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = serve(bench).await;

    let [one, ..] = keys(&server, &r1()).await;
    let [other, ..] = keys(&server, &r1().tenant("t2")).await;

    assert_ne!(one, other);
}

// Cases: K-04, K-05
pub async fn a_run_that_was_rolled_back_is_not_charged_twice<DB: TestDatabase>(bench: &Bench<DB>) {
    let hand = Hand::new(|run, execution| {
        let status = if run < 3 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::CREATED };
        Ok((status, told(execution)).into_response())
    });
    let server = bench.server().routes(hand.routes()).start().await;

    let failed = server.send(&r1()).await;
    let retried = server.send(&r1()).await;
    // Nothing is stored of the key, so the body may be corrected.
    let corrected = server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await;

    assert_ran(&failed, 503);
    assert_ran(&retried, 503);
    assert_ran(&corrected, 201);
    assert_eq!(failed.text(), retried.text());
    assert_eq!(failed.text(), corrected.text());
    bench.assert_holds(1, 1).await;
}

// Cases: K-08
pub async fn without_a_key_there_is_none_to_hand_on<DB: TestDatabase>(bench: &Bench<DB>) {
    let hand = telling::<DB>().described(|operation, _| operation.required(false));
    let server = bench.server().routes(hand.routes()).start().await;

    let [charge, refund, own] = keys(&server, &r1().without("Idempotency-Key")).await;

    assert_eq!([charge, refund, own], ["", "", ""]);
    let first = server.send(&r1()).await;
    assert_replays(&first, &server.send(&r1()).await);
}
