//! The clock of one of the application's processes is wrong by days.
//!
//! On PostgreSQL no time comes from the application, so nothing changes. SQLite runs inside the process and has no
//! other clock than its: a key expires by the clock of the process that is asked, and there is no error either way.

use std::path::PathBuf;

use idem_tests::bench::{Bench, run, run_on_own_database};
use idem_tests::database::Place as _;
use idem_tests::http::{Answer, r1};
use idem_tests::patience::soon;
use idem_tests::process::Process;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::{Postgres, Sqlite};
use tokio::process::Command;
use tokio::sync::OnceCell;

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

/// The library that moves a process's clock, compiled.
async fn shifting_library() -> &'static PathBuf {
    static LIBRARY: OnceCell<PathBuf> = OnceCell::const_new();
    LIBRARY
        .get_or_init(async || {
            let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("shift.so");
            let source = concat!(env!("CARGO_MANIFEST_DIR"), "/clock/shift.c");
            let mut compiler = Command::new("cc");
            compiler.args(["-shared", "-fPIC", "-Wall", "-Werror", source, "-o"]).arg(&library);
            let output = soon(compiler.output()).await.expect("a C compiler is installed: `cc`");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            library
        })
        .await
}

/// A process whose clock is ahead by so many seconds.
async fn start_ahead(seconds: i64, url: &str) -> Process {
    let mut command = Command::new(PROGRAM);
    command.env("LD_PRELOAD", shifting_library().await).env("CLOCK_SHIFT_SECS", seconds.to_string());
    Process::spawn(command, url).await
}

/// The day that an answer says it is.
fn day(answer: &Answer) -> &str {
    answer.field("date").and_then(|date| date.get(.."Mon, 30 Nov 2026".len())).expect("a date")
}

// Cases
#[tokio::test]
async fn on_postgresql_a_wrong_clock_neither_ends_a_key_early_nor_keeps_it_longer() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let url = bench.place.url(None);
        let right = Process::start(PROGRAM, &url).await;
        for seconds in [3 * DAY, -3 * DAY] {
            let wrong = start_ahead(seconds, &url).await;

            for [one, other] in [[&right, &wrong], [&wrong, &right]] {
                let request = r1().fresh_key();
                let first = one.send(&request).await;
                let again = other.send(&request).await;
                assert_ran(&first, 201);
                assert_replays(&first, &again);
                assert_ne!(day(&first), day(&again), "one of the clocks is wrong");

                let key_row = bench.key_rows().await.pop().expect("it is the newest");
                let age = bench.place.clock().await - key_row.created_at;
                assert!((0..60_000_000).contains(&age), "made {age} µs ago by the database's clock");
                assert_eq!(key_row.ttl_secs(), DAY);

                bench.expire_in(HOUR).await;
                assert_replays(&first, &other.send(&request).await);
                bench.expire_in(-1).await;
                assert_ran(&other.send(&request).await, 201);
            }
        }
    })
    .await;
}

// Cases: X-03
#[tokio::test]
async fn on_sqlite_a_clock_set_forward_makes_old_keys_new() {
    run(async |bench: &Bench<Sqlite>| {
        let url = bench.place.url();
        let right = Process::start(PROGRAM, &url).await;
        assert_ran(&right.send(&r1()).await, 201);
        let ahead = start_ahead(DAY + HOUR, &url).await;

        let anew = ahead.send(&r1()).await;

        assert_ran(&anew, 201);
        // By the right clock it is kept longer than a day, and no error.
        assert_replays(&anew, &ahead.send(&r1()).await);
        assert_replays(&anew, &right.send(&r1()).await);
        bench.assert_holds(1, 2).await;
    })
    .await;
}

// Cases: X-01
#[tokio::test]
async fn on_sqlite_a_clock_set_back_keeps_old_keys_longer() {
    run(async |bench: &Bench<Sqlite>| {
        let url = bench.place.url();
        let right = Process::start(PROGRAM, &url).await;
        let first = right.send(&r1()).await;
        let behind = start_ahead(-(DAY + HOUR), &url).await;

        assert_replays(&first, &behind.send(&r1()).await);
        bench.expire_in(-1).await;
        assert_replays(&first, &behind.send(&r1()).await);

        // What is made by the clock that is behind has expired by the right one.
        let request = r1().fresh_key();
        let early = behind.send(&request).await;
        assert_ran(&early, 201);
        assert_replays(&early, &behind.send(&request).await);
        assert_ran(&right.send(&request).await, 201);
        assert_ran(&right.send(&r1()).await, 201);
        bench.assert_holds(2, 4).await;
    })
    .await;
}
