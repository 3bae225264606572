//! A thousand requests for ten keys, most of which lose their client, their handler or the race.

#![expect(clippy::result_large_err, reason = "handlers answer with whole responses, failed or not")]

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use idem_tests::bench::Bench;
use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::http::{Request, open, r1};
use idem_tests::on_both_databases;
use idem_tests::patience::{soon, within};
use idem_tests::same::assert_replays;
use idem_tests::scripted::Script;
use tokio::task::JoinSet;
use tokio::time::sleep;

const TASKS: u64 = 1000;
const KEYS: u64 = 10;

/// The longest that one request may take, were it the last of all.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

fn request(key: u64) -> Request {
    r1().key(format!("\"k-{key}\""))
}

/// A number that looks random and depends on `seed` only (the finaliser of `SplitMix64`).
fn scrambled(seed: u64) -> u64 {
    let mut number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

// Reports: B24
async fn nothing_is_left_of_a_thousand_requests_but_ten_answers<DB: TestDatabase>(bench: &Bench<DB>) {
    // Two of three runs leave nothing.
    let script = Script::new(|run| match run % 3 {
        1 => panic!("the handler was told to"),
        2 => Err(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
        _ => Ok((StatusCode::CREATED, run.to_string()).into_response()),
    });
    let server = bench.server().connections(5).routes(script.routes()).start().await;

    let mut clients = JoinSet::new();
    for task in 0..TASKS {
        let address = server.address;
        clients.spawn(within(REQUEST_LIMIT, async move {
            let random = scrambled(task);
            sleep(Duration::from_micros(random % 2_000_000)).await;
            let pending = open(address, &request(task % KEYS)).await;
            if random.is_multiple_of(2) {
                sleep(Duration::from_micros((random >> 32) % 5000)).await;
                drop(pending);
            } else {
                pending.outcome().await;
            }
        }));
    }
    // Every client is through within its own limit, or the test fails here.
    within(REQUEST_LIMIT, clients.join_all()).await;

    for key in 0..KEYS {
        let first = soon(async {
            loop {
                match server.open(&request(key)).await.outcome().await {
                    Some(answer) if answer.status == 201 => break answer,
                    _ => {}
                }
            }
        })
        .await;
        let runs = script.runs();
        let again = server.send(&request(key)).await;
        assert_replays(&first, &again);
        assert_eq!(script.runs(), runs);
    }
    let keys = usize::try_from(KEYS).expect("ten");
    bench.assert_holds(keys, 10).await;
    // Nobody is at work: every task has ended, and no key is held in the process.
    bench.place.assert_whole(&server.app.writer).await;
    let runs = script.runs();
    bench.place.execute(&format!("DELETE FROM {}", bench.place.key_table())).await;
    for key in 0..KEYS {
        let _ = server.open(&request(key)).await.outcome().await;
    }
    assert_eq!(script.runs(), runs + keys, "each key runs at once, as if it had never been seen");
    assert_eq!(soon(server.app.idempotency.drain(Duration::ZERO)).await, 0);
}

on_both_databases! {
    nothing_is_left_of_a_thousand_requests_but_ten_answers
}
