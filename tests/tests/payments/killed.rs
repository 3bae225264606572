//! Two hundred payments, and a service that is killed thirty times meanwhile; a thousand and 150 times with
//! `IDEM_TEST_LONG=1`.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::faults::is_long;
use idem_tests::http::{Answer, Request, try_open};
use idem_tests::patience::{soon, within};
use idem_tests::problem::assert_problem;
use idem_tests::random::Random;
use idem_tests::same::assert_replays;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::shop::{DIRECT, NOT_DECIDED, QUEUED, Shop, charge_of, order_for};

/// How many payments: half of them call within the transaction, half from the outbox.
fn operations() -> usize {
    if is_long() { 1000 } else { 200 }
}

fn kills() -> usize {
    if is_long() { 150 } else { 30 }
}

/// How many are under way at a time.
const CLIENTS: usize = 8;
/// The most events that pass from one kill to the next; the least is none, and the process has only just started.
const GAP: usize = 6;

/// How long all of it may take.
const LIMIT: Duration = Duration::from_secs(90);

/// What the moments of the kills depend on, beside the machine.
const SEED: u64 = 6;

/// The request of an operation, with a price and a key of its own.
fn request(operation: usize) -> Request {
    let path = if operation.is_multiple_of(2) { DIRECT } else { QUEUED };
    order_for(path, cents(operation), "card_visa").key(format!("\"operation-{operation}\""))
}

fn cents(operation: usize) -> i64 {
    i64::try_from(100 + operation).expect("small")
}

/// What became of all operations so far.
#[derive(Default)]
struct Progress {
    /// The final answer of each operation.
    answers: Mutex<Vec<Option<Answer>>>,
    answered: watch::Sender<usize>,
    /// How many attempts ended without an answer.
    lost: AtomicUsize,
}

/// Sends a request, always the same, until it is answered: to the next process if one is gone.
async fn until_answered(
    processes: &mut watch::Receiver<SocketAddr>,
    request: &Request,
    lost: &AtomicUsize,
) -> Answer {
    loop {
        let address = *processes.borrow_and_update();
        let answer = match try_open(address, request).await {
            Ok(pending) => pending.whole().await,
            Err(_) => None,
        };
        match answer {
            Some(answer) if matches!(answer.status, 201 | 202) => return answer,
            // A call took longer than its limit, on a busy machine.
            Some(answer) if answer.text() == NOT_DECIDED => {}
            // The database is still rolling back what the dead process had begun.
            Some(answer) => assert_problem(&answer, "idempotency_in_progress"),
            None => {
                lost.fetch_add(1, Ordering::Relaxed);
                soon(processes.changed()).await.expect("there is a next process");
            }
        }
    }
}

/// A client that takes one operation after the other until none is left.
async fn client(next: Arc<AtomicUsize>, mut processes: watch::Receiver<SocketAddr>, progress: Arc<Progress>) {
    loop {
        let operation = next.fetch_add(1, Ordering::Relaxed);
        if operation >= operations() {
            return;
        }
        let answer = until_answered(&mut processes, &request(operation), &progress.lost).await;
        progress.answers.lock().expect("nobody panics with it")[operation] = Some(answer);
        progress.answered.send_modify(|count| *count += 1);
    }
}

// Cases: T-04, T-05, K-04
// Reports: B02
async fn after_thirty_kills_charges_orders_and_answers_are_equal_in_number<DB: TestDatabase>(
    shop: &Shop<'_, DB>,
) {
    within(LIMIT, play(shop)).await;
}

async fn play<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let mut random = Random::new(SEED);
    let progress = Arc::new(Progress::default());
    progress.answers.lock().expect("nobody panics with it").resize(operations(), None);
    // A lease is a second longer than a call: what a dead dispatcher has claimed is due again soon.
    let start = || shop.start_with(&[("CALL_LIMIT_MS", "1000")]);
    let mut process = start().await;
    let (address, processes) = watch::channel(process.address);
    let next = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(client(Arc::clone(&next), processes.clone(), Arc::clone(&progress)));
    }

    let mut in_the_midst = 0;
    for _ in 0..kills() {
        let mut answered = progress.answered.subscribe();
        let (calls, answers) = (shop.provider.keys().len(), *answered.borrow());
        let gap = random.below(GAP + 1);
        // An answer has reached its client, or a call the provider; or there is nothing left to wait for.
        if random.below(2) == 0 {
            let enough = soon(answered.wait_for(|count| *count >= operations().min(answers + gap))).await;
            drop(enough.expect("the sender is here"));
        } else {
            tokio::select! {
                () = soon(shop.provider.called(calls + gap)) => {}
                all = answered.wait_for(|count| *count >= operations()) => drop(all.expect("the sender is here")),
            }
        }
        in_the_midst += usize::from(*progress.answered.borrow() < operations());
        process.kill().await;
        process = start().await;
        address.send_replace(process.address);
    }
    while let Some(done) = soon(clients.join_next()).await {
        done.expect("no client panics");
    }
    shop.outbox_is_empty().await;

    let calls = shop.provider.keys().len();
    let lost = progress.lost.load(Ordering::Relaxed);
    println!("{in_the_midst} kills with operations under way, {lost} attempts lost, {calls} calls");
    assert!(in_the_midst >= kills() / 2 && lost > 0 && calls > operations(), "the kills hit something");
    assert_equal_in_number(shop).await;
    let answers = std::mem::take(&mut *progress.answers.lock().expect("nobody panics with it"));
    for (operation, answer) in answers.into_iter().enumerate() {
        let answer = answer.expect("every operation is answered");
        assert_replays(&answer, &process.send(&request(operation)).await);
        assert_order_of(shop, operation, &answer).await;
    }
    assert_equal_in_number(shop).await;
}

/// Asserts that there is one charge and one order for each operation, and that each order has a charge of its own.
async fn assert_equal_in_number<DB: TestDatabase>(shop: &Shop<'_, DB>) {
    let count = i64::try_from(operations()).expect("small");
    let mut keys = shop.provider.keys();
    keys.sort_unstable();
    keys.dedup();

    assert_eq!(shop.provider.charges().len(), operations());
    assert_eq!(keys.len(), operations());
    shop.bench.assert_holds(operations(), count).await;
    assert_eq!(shop.bench.place.integer("SELECT count(DISTINCT charge) FROM orders").await, count);
    shop.assert_charges_and_orders_belong_together().await;
}

/// Asserts that the answer names the order of this operation, and its charge if it was known by then.
async fn assert_order_of<DB: TestDatabase>(shop: &Shop<'_, DB>, operation: usize, answer: &Answer) {
    let mut condition = format!("id = {} AND cents = {}", answer.id(), cents(operation));
    if operation.is_multiple_of(2) {
        condition = format!("{condition} AND charge = '{}'", charge_of(answer));
    }
    assert_eq!(shop.count_orders(&condition).await, 1, "{condition}");
}

crate::in_shops_on_both_databases! {
    after_thirty_kills_charges_orders_and_answers_are_equal_in_number
}
