//! What deletes the rows of keys that have expired, and what it leaves alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use idem_examples::reference::App;
use idem_runtime::{Idempotency, SweeperHandle};
use tokio::task::JoinSet;

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::{open, r1};
use crate::patience::{eventually, soon};
use crate::same::{assert_one_run, assert_ran, assert_replays};

/// As often as a sweeper sweeps.
const OFTEN: Duration = Duration::from_millis(10);

/// So seldom that nobody waits for it.
const SELDOM: Duration = Duration::from_hours(24);

/// Sweeps once, by the settings that are usual.
async fn sweep<DB: TestDatabase>(idempotency: &Idempotency<DB>) -> u64 {
    soon(idempotency.sweep_once()).await.expect("the database works")
}

// Cases: X-10
pub async fn only_what_has_expired_is_swept<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let live = server.send(&r1()).await;
    bench.fill("live", 9, 3600).await;
    bench.fill("expired", 10_000, 0).await;

    let swept = sweep(&server.app.idempotency).await;

    assert_eq!(swept, 10_000);
    let rows = bench.key_rows().await;
    assert_eq!(rows.len(), 10);
    assert!(rows.iter().all(|row| !row.key.starts_with("expired")), "{rows:?}");
    assert_replays(&live, &server.send(&r1()).await);
    assert_eq!(sweep(&server.app.idempotency).await, 0);
}

// Cases: X-10
pub async fn a_batch_is_no_larger_than_its_limit_and_stays_when_the_next_one_fails<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let server = bench.start().await;
    bench.fill("expired", 2101, 0).await;
    bench.place.refuse_to_delete("expired-1500").await;
    let sweeper = server.app.idempotency.sweeper().batch(700);

    let failed = soon(sweeper.sweep_once()).await.expect_err("a row in the third batch is to stay");
    let left = bench.count_keys().await;
    bench.place.deletes_again().await;
    let swept = soon(sweeper.sweep_once()).await.expect("the database works");

    assert!(matches!(&failed, idem_runtime::Error::Store(_)), "{failed:?}");
    assert_eq!(left, 701, "two batches of 700 are gone, and nothing of the third");
    assert_eq!(swept, 701);
    assert_eq!(bench.count_keys().await, 0);
}

// Cases: X-10
pub async fn rows_without_an_answer_are_swept_as_all_are<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let table = bench.place.key_table();
    for prefix in ["stored", "broken", "received"] {
        bench.fill(&format!("live-{prefix}"), 2, 3600).await;
        bench.fill(prefix, 2, -1).await;
    }
    // A run whose handler committed by itself, and a message that was received: neither has an answer.
    for (prefix, completed_at) in [("broken", "NULL"), ("received", "completed_at")] {
        let without = format!(
            "response_status = NULL, response_headers = NULL, response_body = NULL, completed_at = {completed_at}"
        );
        bench.place.execute(&format!("UPDATE {table} SET {without} WHERE key LIKE '%{prefix}%'")).await;
    }

    let swept = sweep(&server.app.idempotency).await;

    assert_eq!(swept, 6);
    let rows = bench.key_rows().await;
    assert_eq!(rows.len(), 6);
    assert!(rows.iter().all(|row| row.key.starts_with("live-")), "{rows:?}");
}

// Cases: X-10
pub async fn a_run_that_goes_on_keeps_its_row<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let slow = r1().path("/slow");
    bench.fill("expired", 1, 0).await;

    let first = server.open_up_to_the_gate(&slow).await;
    let (swept, answer) = sweep_past_the_gate(bench, &server.app, first.answer()).await;

    assert_eq!(swept, 1);
    assert_ran(&answer, 201);
    assert_replays(&answer, &server.send(&slow).await);
    bench.assert_holds(1, 1).await;
}

/// Sweeps while a run waits at the gate, and opens it: before the sweep is over where that has to wait for the writer.
async fn sweep_past_the_gate<DB: TestDatabase, T>(
    bench: &Bench<DB>,
    app: &App<DB>,
    answer: impl Future<Output = T>,
) -> (u64, T) {
    // A process of its own, so that it meets the transaction and not the pool's queue.
    let other = bench.server().unmigrated().app().await;
    let mut sweeping = Box::pin(sweep(&other.idempotency));
    if DB::WRITES_IN_PARALLEL {
        let swept = sweeping.await;
        app.probe.gate.open();
        return (swept, answer.await);
    }
    let early = tokio::time::timeout(Duration::from_millis(50), &mut sweeping).await;
    assert!(early.is_err(), "the run holds the file");
    app.probe.gate.open();
    tokio::join!(sweeping, answer)
}

// Cases: X-11
pub async fn sweepers_do_not_meet<DB: TestDatabase>(bench: &Bench<DB>) {
    let servers = [bench.start().await, bench.start().await];
    bench.fill("expired", 3000, 0).await;
    bench.fill("live", 10, 3600).await;

    let mut sweepers = JoinSet::new();
    for sweeper in 0..6 {
        let sweeper = servers[sweeper % 2].app.idempotency.sweeper().batch(50);
        sweepers.spawn(async move { sweeper.sweep_once().await });
    }

    let swept = soon(sweepers.join_all()).await.into_iter().map(|swept| swept.expect("no sweep fails"));
    assert_eq!(swept.sum::<u64>(), 3000, "each row by one of them");
    assert_eq!(bench.count_keys().await, 10);
}

// Cases: X-12
pub async fn a_running_take_over_is_not_swept<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let slow = r1().path("/slow");
    server.gate().open();
    assert_ran(&server.send(&slow).await, 201);
    bench.expire_in(-1).await;

    let after = bench.start().await;
    let first = after.open_up_to_the_gate(&slow).await;
    let (swept, answer) = sweep_past_the_gate(bench, &after.app, first.answer()).await;

    assert_eq!(swept, 0, "the row is locked, then live again");
    assert_ran(&answer, 201);
    assert_replays(&answer, &after.send(&slow).await);
    bench.assert_holds(1, 2).await;
}

// Cases: X-12
pub async fn a_crowd_on_a_key_that_is_swept_runs_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let servers = [bench.start().await, bench.start().await];
    assert_ran(&servers[0].send(&r1()).await, 201);
    let is_over = Arc::new(AtomicBool::new(false));
    let mut sweepers = JoinSet::new();
    for server in &servers {
        let (idempotency, is_over) = (server.app.idempotency.clone(), Arc::clone(&is_over));
        sweepers.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                idempotency.sweep_once().await.expect("no sweep fails");
            }
        });
    }

    for _ in 0..10 {
        bench.expire_in(-1).await;
        let mut clients = JoinSet::new();
        for client in 0..10 {
            let address = servers[client % 2].address;
            clients.spawn(async move { open(address, &r1()).await.answer().await });
        }
        assert_one_run(&soon(clients.join_all()).await);
    }
    is_over.store(true, Ordering::Relaxed);
    soon(sweepers.join_all()).await;

    assert_eq!(servers[0].runs() + servers[1].runs(), 11);
    bench.assert_holds(1, 11).await;
}

// Cases: X-14
pub async fn requests_do_not_notice_a_sweeper_that_cannot_connect<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let cut_off = bench.server().unmigrated().app().await;
    cut_off.writer.close().await;
    let first = server.send(&r1()).await;
    bench.expire_in(-1).await;

    let sweeping = cut_off.idempotency.sweeper().every(OFTEN).start();
    let failed = soon(cut_off.idempotency.sweep_once()).await;
    let second = server.send(&r1()).await;
    let again = server.send(&r1()).await;

    assert!(matches!(&failed, Err(idem_runtime::Error::Store(_))), "{failed:?}");
    assert_ran(&first, 201);
    assert_ran(&second, 201);
    assert_replays(&second, &again);
    assert!(!sweeping.is_finished(), "it does not end by itself");
    soon(sweeping.stop()).await;
    bench.assert_holds(1, 2).await;
}

// Cases: X-10
pub async fn a_sweeper_sweeps_again_and_again<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().app().await;
    let sweeping = app.idempotency.sweeper().every(OFTEN).start();

    for _ in 0..3 {
        bench.fill("expired", 10, 0).await;
        eventually(async || bench.count_keys().await == 0).await;
    }

    soon(sweeping.stop()).await;
}

// Cases: X-10
pub async fn a_sweeper_is_stopped_between_two_batches<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().app().await;
    bench.fill("expired", 5000, 0).await;

    let sweeping = app.idempotency.sweeper().every(OFTEN).batch(10).start();
    eventually(async || bench.count_keys().await < 5000).await;
    soon(sweeping.stop()).await;

    let left = bench.count_keys().await;
    assert!(left > 0, "it is not waited for the whole pass");
    assert_eq!(left % 10, 0, "the batch in progress is");
    let rest = sweep(&app.idempotency).await;
    assert_eq!(i64::try_from(rest), Ok(left));
}

// Cases: X-10
pub async fn a_sweeper_ends_with_its_handle<DB: TestDatabase>(bench: &Bench<DB>) {
    // Two sweepers, each with a table of its own: the one that goes on says how much time has passed.
    let table = format!("{}_2", bench.place.key_table());
    let name = table.clone();
    let dropped = bench.server().app().await;
    let other = bench.server().engine(move |builder| builder.table(name)).app().await;
    let sweeping = dropped.idempotency.sweeper().every(OFTEN).start();
    let clock = other.idempotency.sweeper().every(OFTEN).start();
    bench.fill("expired", 10, 0).await;
    eventually(async || bench.count_keys().await == 0).await;

    drop(sweeping);
    for tick in 0..20 {
        if tick == 10 {
            bench.fill("expired", 10, 0).await;
        }
        bench.place.execute(&DB::Place::filling(&table, "tick", 1, 0)).await;
        eventually(async || bench.count(&table).await == 0).await;
    }

    assert_eq!(bench.count_keys().await, 10);
    soon(clock.stop()).await;
}

/// Waits until a sweeper has ended by itself.
async fn ends(sweeping: SweeperHandle) {
    eventually(async || sweeping.is_finished()).await;
    soon(sweeping.stop()).await;
}

// Cases: X-10
pub async fn a_sweeper_ends_with_its_engine<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().app().await;
    let [often, seldom] = [OFTEN, SELDOM].map(|every| app.idempotency.sweeper().every(every).start());
    let clone = app.idempotency.clone();

    drop(app);
    bench.fill("expired", 10, 0).await;
    eventually(async || bench.count_keys().await == 0).await;
    drop(clone);

    ends(often).await;
    ends(seldom).await;
}

// Cases: T-20
pub async fn a_drain_ends_the_sweepers<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().app().await;
    let seldom = app.idempotency.sweeper().every(SELDOM).start();

    let dropped = soon(app.idempotency.drain(Duration::from_secs(20))).await;
    let late = app.idempotency.sweeper().every(OFTEN).start();

    assert_eq!(dropped, 0);
    ends(seldom).await;
    ends(late).await;
    // Who asks for one pass is given one.
    bench.fill("expired", 10, 0).await;
    assert_eq!(sweep(&app.idempotency).await, 10);
}

// Cases: X-10
pub async fn a_pass_that_is_given_up_leaves_its_pool_whole<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().connections(1).app().await;
    bench.fill("expired", 2000, 0).await;
    let sweeper = app.idempotency.sweeper().batch(100);

    let mut swept = 0;
    for patience in 0..200 {
        let patience = Duration::from_micros(patience * 50);
        swept += tokio::time::timeout(patience, sweeper.sweep_once())
            .await
            .map_or(0, |swept| swept.expect("the database works"));
        bench.place.assert_whole(&app.writer).await;
    }
    sweep(&app.idempotency).await;

    assert!(swept <= 2000, "{swept}");
    assert_eq!(bench.count_keys().await, 0);
}

// Cases: X-10
pub async fn what_a_sweeper_was_told_is_kept_within_its_bounds<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().app().await;
    let sweeper = || app.idempotency.sweeper();
    let batch = if DB::WRITES_IN_PARALLEL { 1000 } else { 50 };

    for (sweeper, kept) in [
        (sweeper(), format!("every: 60s, batch: {batch} }}")),
        (sweeper().every(Duration::ZERO).batch(0), "every: 10ms, batch: 1 }".to_owned()),
        (sweeper().every(Duration::MAX).batch(u32::MAX), "every: 86400s, batch: 10000 }".to_owned()),
    ] {
        let told = format!("{sweeper:?}");
        assert!(told.ends_with(&kept), "{told}, not {kept}");
    }
}

// Cases: X-10
pub async fn a_batch_out_of_range_counts_as_the_nearest_within<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().app().await;
    bench.fill("expired", 3, 0).await;
    bench.place.refuse_to_delete("expired-2").await;

    let sweeper = app.idempotency.sweeper().every(Duration::ZERO).batch(0);
    soon(sweeper.sweep_once()).await.expect_err("the second batch is refused");

    assert_eq!(bench.count_keys().await, 2, "the first batch was of one row");
}
