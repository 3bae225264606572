//! The receipt, which is left for after COMMIT and may be lost.

use idem_examples::payments::{DECLINED_CARD, Receipt};
use idem_tests::database::TestDatabase;
use idem_tests::http::open;
use idem_tests::same::{assert_ran, assert_replays};

use crate::shop::{DIRECT, Shop, end, order, order_for};

// Cases: A-01
async fn a_receipt_is_sent_once_and_not_for_a_replay_or_a_refusal<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let service = shop.start().await;

    let declined = service.send(&order_for(DIRECT, 500, DECLINED_CARD).key("\"k-0002\"")).await;
    let first = service.send(&order(DIRECT)).await;
    let again = service.send(&order(DIRECT)).await;
    end(service).await;

    assert_ran(&declined, 402);
    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_eq!(shop.mail.sent(), [Receipt { order: first.id() }]);
}

// Cases: T-05, A-01
async fn killed_before_the_receipt_it_is_lost_and_no_replay_sends_it<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let victim = shop.start_pausing_at("committed").await;

    let first = victim.send(&order(DIRECT)).await;
    shop.kill_where_it_stands(victim).await;
    let service = shop.start().await;
    let again = service.send(&order(DIRECT)).await;
    end(service).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert_eq!(shop.mail.sent(), []);
    shop.assert_one_charge_each(&[1]);
    shop.bench.assert_holds(1, 1).await;
}

// Cases: T-04, A-01
async fn a_run_that_is_rolled_back_sends_no_receipt_and_its_retry_sends_one<DB: TestDatabase>(
    shop: &Shop<'_, DB>,
) {
    let victim = shop.start_pausing_at("answered").await;

    let first = open(victim.address, &order(DIRECT)).await;
    shop.kill_where_it_stands(victim).await;
    assert_eq!(first.outcome().await, None);
    assert_eq!(shop.mail.sent(), []);
    let service = shop.start().await;
    let answer = service.retry(&order(DIRECT)).await;
    end(service).await;

    assert_ran(&answer, 201);
    assert_eq!(shop.mail.sent(), [Receipt { order: answer.id() }]);
}

crate::in_shops_on_both_databases! {
    a_receipt_is_sent_once_and_not_for_a_replay_or_a_refusal
    killed_before_the_receipt_it_is_lost_and_no_replay_sends_it
    a_run_that_is_rolled_back_sends_no_receipt_and_its_retry_sends_one
}
