//! `POST /orders`: the call within the transaction, with a key that survives a rollback.

use std::time::Duration;

use axum::routing::post;
use axum::{Json, Router};
use idem_examples::payments::{Balancer, DECLINED_CARD, Treatment};
use idem_examples::reference::Gate;
use idem_tests::database::TestDatabase;
use idem_tests::http::{Answer, open};
use idem_tests::patience::soon;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket};

use crate::shop::{DIRECT, NOT_DECIDED, PUBLISHED_KEY, Shop, charge_of, order, order_for, serve};

/// As long as load balancers in production wait, only shorter.
const BALANCER_LIMIT: Duration = Duration::from_secs(2);

/// Asserts that a handler could not learn what the provider has decided, and says so.
#[track_caller]
fn assert_not_decided(answer: &Answer) {
    assert_ran(answer, 503);
    assert_eq!(answer.text(), NOT_DECIDED);
    assert_eq!(answer.field("retry-after"), Some("1"));
}

// Cases: T-08, T-16
// Reports: B18
async fn a_load_balancer_that_gives_up_ends_no_payment_and_the_retry_gets_the_answer<DB: TestDatabase>(
    shop: &Shop<'_, DB>,
) {
    let service = shop.start().await;
    let balancer = Balancer::new(BALANCER_LIMIT).expect("an HTTP client");
    balancer.point_to(service.address);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let entrance = listener.local_addr().expect("a bound listener has an address");
    let balancing = serve(listener, balancer.routes());
    let gate = Gate::default();
    shop.provider.next(Treatment::AnswersAtGate(gate.clone()));

    let first = open(entrance, &order(DIRECT)).await.answer().await;
    let meanwhile = open(entrance, &order(DIRECT)).await.answer().await;
    gate.open();
    let answer = soon(async {
        loop {
            let answer = open(entrance, &order(DIRECT)).await.answer().await;
            // Still in progress, or late again where the machine is busy.
            if !matches!(answer.status, 409 | 504) {
                return answer;
            }
        }
    })
    .await;
    balancing.abort();

    assert_eq!((first.status, first.text()), (504, ""), "the load balancer's own answer");
    assert_problem(&meanwhile, "idempotency_in_progress");
    assert_eq!(answer.status, 201);
    assert!(answer.is_replay(), "the first run's answer: {answer:?}");
    shop.assert_one_charge_each(&[1]);
    shop.bench.assert_holds(1, 1).await;
    shop.assert_charges_and_orders_belong_together().await;
}

// Cases: T-04, K-01, K-04, K-07
async fn killed_between_the_providers_answer_and_commit_the_retry_charges_nothing<DB: TestDatabase>(
    shop: &Shop<'_, DB>,
) {
    let victim = shop.start_pausing_at("answered").await;

    let first = open(victim.address, &order(DIRECT)).await;
    shop.kill_where_it_stands(victim).await;
    assert_eq!(first.outcome().await, None, "a dead process answers nothing");
    assert_eq!(shop.provider.charges().len(), 1, "the money has moved");
    shop.bench.assert_holds(0, 0).await;
    let service = shop.start().await;
    let answer = service.retry(&order(DIRECT)).await;
    let again = service.send(&order(DIRECT)).await;

    assert_ran(&answer, 201);
    assert_replays(&answer, &again);
    assert_eq!(shop.provider.keys(), [PUBLISHED_KEY, PUBLISHED_KEY]);
    shop.assert_one_charge_each(&[2]);
    assert_eq!(charge_of(&answer), shop.provider.charges()[0].id);
    shop.bench.assert_holds(1, 1).await;
    shop.assert_charges_and_orders_belong_together().await;
}

// Cases: T-04, K-04
async fn killed_before_the_providers_answer_arrives_the_retry_charges_nothing<DB: TestDatabase>(
    shop: &Shop<'_, DB>,
) {
    let victim = shop.start().await;
    shop.provider.next(Treatment::AnswersAtGate(Gate::default()));

    let first = open(victim.address, &order(DIRECT)).await;
    soon(shop.provider.called(1)).await;
    victim.kill().await;
    assert_eq!(first.outcome().await, None);
    shop.bench.assert_holds(0, 0).await;
    let service = shop.start().await;
    let answer = service.retry(&order(DIRECT)).await;

    assert_ran(&answer, 201);
    shop.assert_one_charge_each(&[2]);
    shop.bench.assert_holds(1, 1).await;
    shop.assert_charges_and_orders_belong_together().await;
}

// Cases: K-04
// Reports: B11
async fn a_call_that_takes_too_long_leaves_no_order_and_the_retry_learns_its_outcome<DB: TestDatabase>(
    shop: &Shop<'_, DB>,
) {
    let service = shop.start_with(&[("CALL_LIMIT_MS", "1000")]).await;
    shop.provider.next(Treatment::AnswersAtGate(Gate::default()));

    let late = service.send(&order(DIRECT)).await;
    assert_eq!(shop.provider.charges().len(), 1, "the money has moved");
    shop.bench.assert_holds(0, 0).await;
    let answer = service.send(&order(DIRECT)).await;

    assert_not_decided(&late);
    assert_ran(&answer, 201);
    shop.assert_one_charge_each(&[2]);
    shop.bench.assert_holds(1, 1).await;
    shop.assert_charges_and_orders_belong_together().await;
}

// Reports: B12
async fn a_provider_that_is_down_is_not_the_keys_last_word<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let socket = TcpSocket::new_v4().expect("a socket");
    // A port of its own where nobody listens yet.
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let provider_url = format!("http://{}", socket.local_addr().expect("a bound socket has an address"));
    let service = shop.start_with(&[("PROVIDER_URL", &provider_url)]).await;

    let down = service.send(&order(DIRECT)).await;
    let still_down = service.send(&order(DIRECT)).await;
    shop.bench.assert_holds(0, 0).await;
    let up = serve(socket.listen(16).expect("it is bound"), shop.provider.routes());
    let answer = service.send(&order(DIRECT)).await;
    up.abort();

    assert_not_decided(&down);
    assert_not_decided(&still_down);
    assert_ran(&answer, 201);
    shop.assert_one_charge_each(&[1]);
    shop.bench.assert_holds(1, 1).await;
    shop.assert_charges_and_orders_belong_together().await;
}

// Reports: B12
async fn a_failure_of_the_provider_is_not_the_keys_last_word<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let service = shop.start().await;
    shop.provider.next(Treatment::Fails);

    let failed = service.send(&order(DIRECT)).await;
    shop.bench.assert_holds(0, 0).await;
    let answer = service.send(&order(DIRECT)).await;

    assert_not_decided(&failed);
    assert_ran(&answer, 201);
    assert_replays(&answer, &service.send(&order(DIRECT)).await);
    shop.assert_one_charge_each(&[2]);
    shop.bench.assert_holds(1, 1).await;
    shop.assert_charges_and_orders_belong_together().await;
}

async fn a_declined_card_is_an_answer_that_is_kept_and_no_order<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let service = shop.start().await;
    let declined = order_for(DIRECT, 500, DECLINED_CARD);

    let first = service.send(&declined).await;
    let again = service.send(&declined).await;

    assert_ran(&first, 402);
    assert_eq!(first.text(), r#"{"error":"card_declined"}"#);
    assert_replays(&first, &again);
    assert_eq!(shop.provider.keys(), [PUBLISHED_KEY], "the replay asks nobody");
    assert!(shop.provider.charges().is_empty());
    shop.bench.assert_holds(1, 0).await;
}

// Cases: T-04, K-04
async fn killed_before_a_refusal_is_kept_the_retry_is_refused<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let declined = order_for(DIRECT, 500, DECLINED_CARD);
    let victim = shop.start_pausing_at("answered").await;

    let first = open(victim.address, &declined).await;
    shop.kill_where_it_stands(victim).await;
    assert_eq!(first.outcome().await, None);
    shop.bench.assert_holds(0, 0).await;
    let service = shop.start().await;
    let answer = service.retry(&declined).await;

    assert_ran(&answer, 402);
    assert_replays(&answer, &service.send(&declined).await);
    assert_eq!(shop.provider.keys(), [PUBLISHED_KEY, PUBLISHED_KEY]);
    assert!(shop.provider.charges().is_empty());
    shop.bench.assert_holds(1, 0).await;
}

// Cases: T-04, K-05
async fn another_body_after_a_lost_run_meets_the_providers_refusal_and_the_right_one_its_charge<
    DB: TestDatabase,
>(
    shop: &Shop<'_, DB>,
) {
    let dearer = order_for(DIRECT, 700, "card_visa");
    let victim = shop.start_pausing_at("answered").await;
    let first = open(victim.address, &order(DIRECT)).await;
    shop.kill_where_it_stands(victim).await;
    assert_eq!(first.outcome().await, None);
    let service = shop.start().await;

    let refused = service.retry(&dearer).await;
    let refused_again = service.send(&dearer).await;
    shop.bench.assert_holds(0, 0).await;
    let answer = service.send(&order(DIRECT)).await;
    let too_late = service.send(&dearer).await;

    for answer in [&refused, &refused_again] {
        assert_ran(answer, 422);
        assert_eq!(answer.text(), r#"{"error":"other_payment"}"#);
    }
    assert_ran(&answer, 201);
    assert_problem(&too_late, "idempotency_key_reused");
    // The lost run's, two refused ones, and the right one's.
    shop.assert_one_charge_each(&[4]);
    assert_eq!(shop.provider.charges()[0].cents, 500);
    shop.bench.assert_holds(1, 1).await;
    shop.assert_charges_and_orders_belong_together().await;
}

async fn a_charge_that_another_order_has_makes_no_order<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let confused = Router::new().route("/charges", post(async || Json(json!({ "id": "ch_1" }))));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let provider_url = format!("http://{}", listener.local_addr().expect("a bound listener has an address"));
    let serving = serve(listener, confused);
    let service = shop.start_with(&[("PROVIDER_URL", &provider_url)]).await;

    let first = service.send(&order(DIRECT)).await;
    let second = service.send(&order(DIRECT).key("\"k-0002\"")).await;
    serving.abort();

    assert_ran(&first, 201);
    assert_ran(&second, 500);
    shop.bench.assert_holds(1, 1).await;
}

// Cases: K-03
async fn two_tenants_with_one_key_are_two_charges<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let service = shop.start().await;

    let one = service.send(&order(DIRECT)).await;
    let other = service.send(&order(DIRECT).tenant("t2")).await;

    assert_ran(&one, 201);
    assert_ran(&other, 201);
    assert_ne!(charge_of(&one), charge_of(&other));
    shop.assert_one_charge_each(&[1, 1]);
    shop.bench.assert_holds(2, 2).await;
    shop.assert_charges_and_orders_belong_together().await;
}

crate::in_shops_on_both_databases! {
    a_load_balancer_that_gives_up_ends_no_payment_and_the_retry_gets_the_answer
    killed_between_the_providers_answer_and_commit_the_retry_charges_nothing
    killed_before_the_providers_answer_arrives_the_retry_charges_nothing
    a_call_that_takes_too_long_leaves_no_order_and_the_retry_learns_its_outcome
    a_provider_that_is_down_is_not_the_keys_last_word
    a_failure_of_the_provider_is_not_the_keys_last_word
    a_declined_card_is_an_answer_that_is_kept_and_no_order
    killed_before_a_refusal_is_kept_the_retry_is_refused
    another_body_after_a_lost_run_meets_the_providers_refusal_and_the_right_one_its_charge
    a_charge_that_another_order_has_makes_no_order
    two_tenants_with_one_key_are_two_charges
}
