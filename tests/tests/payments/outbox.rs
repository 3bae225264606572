//! `POST /orders/queued`: the call written down, made after COMMIT, at least once, with the key that is in its row.

use idem_examples::payments::{DECLINED_CARD, Treatment};
use idem_examples::reference::Gate;
use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::http::open;
use idem_tests::patience::soon;
use idem_tests::same::{assert_ran, assert_replays};

use crate::shop::{DIRECT, QUEUED, Shop, go_on, order, order_for, stands_still};

async fn nothing_leaves_before_commit<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let service = shop.start_pausing_at("queued").await;

    let first = open(service.address, &order(QUEUED)).await;
    stands_still(&service).await;
    shop.bench.assert_holds(0, 0).await;
    assert!(shop.provider.keys().is_empty(), "nobody is asked on behalf of a run that may be rolled back");
    go_on(&service).await;
    let answer = first.answer().await;
    let order = shop.settled(&service, answer.id()).await;

    assert_ran(&answer, 202);
    assert_eq!(answer.json()["state"], "charging");
    assert_eq!(answer.field("location").map(str::to_owned), Some(format!("/orders/{}", answer.id())));
    assert_eq!(order["state"], "paid");
    shop.assert_one_charge_each(&[1]);
    shop.outbox_is_empty().await;
    shop.bench.assert_holds(1, 1).await;
    shop.assert_charges_and_orders_belong_together().await;
}

// Cases: T-04
async fn a_run_that_is_rolled_back_leaves_no_call<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let victim = shop.start_pausing_at("queued").await;

    let first = open(victim.address, &order(QUEUED)).await;
    shop.kill_where_it_stands(victim).await;
    assert_eq!(first.outcome().await, None);
    shop.bench.assert_holds(0, 0).await;
    assert_eq!(shop.bench.count("outbox").await, 0);
    let service = shop.start().await;
    let answer = service.retry(&order(QUEUED)).await;
    shop.settled(&service, answer.id()).await;

    assert_ran(&answer, 202);
    shop.assert_one_charge_each(&[1]);
    shop.bench.assert_holds(1, 1).await;
    shop.assert_charges_and_orders_belong_together().await;
}

// Cases: T-05
async fn killed_between_commit_and_the_call_the_next_process_makes_it<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let victim = shop.start_pausing_at("dispatch").await;

    let answer = victim.send(&order(QUEUED)).await;
    shop.kill_where_it_stands(victim).await;
    assert!(shop.provider.keys().is_empty());
    assert_eq!(shop.bench.count("outbox").await, 1);
    let service = shop.start().await;
    let again = service.send(&order(QUEUED)).await;
    let order = shop.settled(&service, answer.id()).await;

    assert_ran(&answer, 202);
    assert_replays(&answer, &again);
    assert_eq!(order["state"], "paid");
    shop.assert_one_charge_each(&[1]);
    shop.outbox_is_empty().await;
    shop.assert_charges_and_orders_belong_together().await;
}

async fn killed_between_the_call_and_its_mark_it_is_made_again_and_charges_nothing<DB: TestDatabase>(
    shop: &Shop<'_, DB>,
) {
    let victim = shop.start_pausing_at("sent").await;

    let answer = victim.send(&order(QUEUED)).await;
    shop.kill_where_it_stands(victim).await;
    assert_eq!(shop.provider.charges().len(), 1, "the money has moved");
    let service = shop.start().await;
    assert_eq!(shop.read(&service, answer.id()).await["state"], "charging");
    shop.end_leases().await;
    let order = shop.settled(&service, answer.id()).await;

    assert_ran(&answer, 202);
    assert_eq!(order["charge"], shop.provider.charges()[0].id);
    shop.assert_one_charge_each(&[2]);
    shop.outbox_is_empty().await;
    shop.assert_charges_and_orders_belong_together().await;
}

async fn killed_during_the_call_it_is_made_again_and_charges_nothing<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let victim = shop.start().await;
    shop.provider.next(Treatment::AnswersAtGate(Gate::default()));

    let answer = victim.send(&order(QUEUED)).await;
    soon(shop.provider.called(1)).await;
    victim.kill().await;
    let service = shop.start().await;
    shop.end_leases().await;
    shop.settled(&service, answer.id()).await;

    assert_ran(&answer, 202);
    shop.assert_one_charge_each(&[2]);
    shop.outbox_is_empty().await;
    shop.assert_charges_and_orders_belong_together().await;
}

async fn two_dispatchers_make_each_call_once<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let processes = [shop.start().await, shop.start().await];

    for (number, process) in (0..20).zip(processes.iter().cycle()) {
        let key = format!("\"k-{number}\"");
        assert_ran(&process.send(&order_for(QUEUED, 100 + number, "card_visa").key(key)).await, 202);
    }
    shop.outbox_is_empty().await;

    shop.assert_one_charge_each(&[1; 20]);
    shop.bench.assert_holds(20, 20).await;
    shop.assert_charges_and_orders_belong_together().await;
}

async fn a_call_that_outlasts_its_lease_is_made_twice_and_marked_once<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let processes = [shop.start().await, shop.start().await];
    let gate = Gate::default();
    shop.provider.next(Treatment::AnswersAtGate(gate.clone()));

    let answer = processes[0].send(&order(QUEUED)).await;
    soon(shop.provider.called(1)).await;
    shop.end_leases().await;
    // The other one finds it due, and is answered at once.
    let order = shop.settled(&processes[0], answer.id()).await;
    shop.outbox_is_empty().await;
    gate.open();
    // The first is done with its call when it makes the next: of two that are held, one is its own.
    let held = [Gate::default(), Gate::default()];
    for gate in &held {
        shop.provider.next(Treatment::AnswersAtGate(gate.clone()));
    }
    for key in ["\"k-2\"", "\"k-3\""] {
        assert_ran(&processes[0].send(&order_for(QUEUED, 500, "card_visa").key(key)).await, 202);
    }
    soon(shop.provider.called(4)).await;
    let order_afterwards = shop.read(&processes[0], answer.id()).await;
    held.iter().for_each(Gate::open);
    shop.outbox_is_empty().await;

    assert_eq!(order["state"], "paid");
    assert_eq!(order, order_afterwards);
    shop.assert_one_charge_each(&[2, 1, 1]);
    shop.assert_charges_and_orders_belong_together().await;
}

async fn while_a_call_is_made_nothing_is_held<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let service = shop.start().await;
    let gate = Gate::default();
    shop.provider.next(Treatment::AnswersAtGate(gate.clone()));
    assert_ran(&service.send(&order(QUEUED)).await, 202);
    soon(shop.provider.called(1)).await;

    let queued = service.send(&order(QUEUED).key("\"k-0002\"")).await;
    let direct = service.send(&order(DIRECT)).await;
    let still = shop.count_orders("state = 'charging'").await;
    gate.open();
    shop.outbox_is_empty().await;

    assert_ran(&queued, 202);
    assert_ran(&direct, 201);
    assert_eq!(still, 2, "the one that is being charged, and the one behind it");
    shop.assert_one_charge_each(&[1, 1, 1]);
    shop.assert_charges_and_orders_belong_together().await;
}

async fn a_failed_call_is_made_again_with_the_same_key<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let service = shop.start().await;
    shop.provider.next(Treatment::Fails);

    let answer = service.send(&order(QUEUED)).await;
    soon(shop.provider.called(1)).await;
    shop.end_leases().await;
    let order = shop.settled(&service, answer.id()).await;

    assert_eq!(order["state"], "paid");
    shop.assert_one_charge_each(&[2]);
    shop.outbox_is_empty().await;
    shop.assert_charges_and_orders_belong_together().await;
}

async fn a_declined_card_is_said_by_the_order_and_not_by_a_replay<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let declined = order_for(QUEUED, 500, DECLINED_CARD);
    let service = shop.start().await;

    let first = service.send(&declined).await;
    let order = shop.settled(&service, first.id()).await;
    let again = service.send(&declined).await;

    assert_ran(&first, 202);
    assert_eq!((&order["state"], order["charge"].as_str()), (&"declined".into(), None));
    assert_replays(&first, &again);
    assert!(shop.provider.charges().is_empty());
    shop.outbox_is_empty().await;
    shop.bench.assert_holds(1, 1).await;
}

async fn replays_write_no_call_down<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let service = shop.start().await;
    let first = service.send(&order(QUEUED)).await;
    shop.outbox_is_empty().await;

    for _ in 0..10 {
        assert_replays(&first, &service.send(&order(QUEUED)).await);
        assert_eq!(shop.bench.count("outbox").await, 0);
    }
    // Whatever the dispatcher had found, it would have made before this one.
    assert_ran(&service.send(&order(QUEUED).key("\"k-0002\"")).await, 202);
    soon(shop.provider.called(2)).await;
    shop.outbox_is_empty().await;

    shop.assert_one_charge_each(&[1, 1]);
    shop.bench.assert_holds(2, 2).await;
}

async fn a_call_older_than_the_providers_memory_is_left_to_a_person<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let victim = shop.start_pausing_at("dispatch").await;
    let old = victim.send(&order(QUEUED)).await;
    shop.kill_where_it_stands(victim).await;
    let time = DB::Place::time(-21 * 3600);
    shop.bench.place.execute(&format!("UPDATE outbox SET created_at = {time}, due_at = {time}")).await;

    let service = shop.start().await;
    let new = service.send(&order(QUEUED).key("\"k-0002\"")).await;
    let settled = shop.settled(&service, new.id()).await;

    assert_eq!(settled["state"], "paid");
    assert_eq!(shop.read(&service, old.id()).await["state"], "charging");
    assert_eq!(shop.bench.count("outbox").await, 1);
    shop.assert_one_charge_each(&[1]);
}

// Cases: K-02
async fn one_key_on_both_endpoints_is_two_charges<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let service = shop.start().await;

    let queued = service.send(&order(QUEUED)).await;
    shop.settled(&service, queued.id()).await;
    let direct = service.send(&order(DIRECT)).await;

    assert_ran(&queued, 202);
    assert_ran(&direct, 201);
    shop.assert_one_charge_each(&[1, 1]);
    shop.bench.assert_holds(2, 2).await;
    shop.assert_charges_and_orders_belong_together().await;
}

crate::in_shops_on_both_databases! {
    nothing_leaves_before_commit
    a_run_that_is_rolled_back_leaves_no_call
    killed_between_commit_and_the_call_the_next_process_makes_it
    killed_between_the_call_and_its_mark_it_is_made_again_and_charges_nothing
    killed_during_the_call_it_is_made_again_and_charges_nothing
    two_dispatchers_make_each_call_once
    a_call_that_outlasts_its_lease_is_made_twice_and_marked_once
    while_a_call_is_made_nothing_is_held
    a_failed_call_is_made_again_with_the_same_key
    a_declined_card_is_said_by_the_order_and_not_by_a_replay
    replays_write_no_call_down
    a_call_older_than_the_providers_memory_is_left_to_a_person
    one_key_on_both_endpoints_is_two_charges
}
