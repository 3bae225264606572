//! The sweeper when its database fails it, and at the steps of a request that it meets; the health check likewise.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use idem_runtime::Error;
use idem_tests::bench::{Bench, run, run_on};
use idem_tests::contract::sweeper::{
    a_crowd_on_a_key_that_is_swept_runs_once, a_running_take_over_is_not_swept,
    only_what_has_expired_is_swept, sweepers_do_not_meet,
};
use idem_tests::database::{PgPlace, Place as _, TestDatabase};
use idem_tests::http::r1;
use idem_tests::on_both_databases;
use idem_tests::own_server::{OwnServer, Shutdown};
use idem_tests::patience::{eventually, soon};
use idem_tests::proxy::{At, Round, RoundKind};
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::{Postgres, Row as _};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// As often as a sweeper sweeps.
const OFTEN: Duration = Duration::from_millis(20);

/// Counts the warnings of the engine.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl Warnings {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Waits until there are `more` than now.
    async fn more(&self, more: usize) {
        let already = self.count();
        eventually(async || self.count() >= already + more).await;
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("idem_runtime") && *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

on_both_databases! {
    a_sweeper_goes_on_after_passes_that_failed
}

// Cases: X-14
async fn a_sweeper_goes_on_after_passes_that_failed<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    bench.fill("expired", 10, 0).await;
    bench.place.refuse_to_delete("expired-5").await;
    let warnings = Warnings::default();

    let sweeper = server.app.idempotency.sweeper().every(OFTEN);
    let sweeping = tracing::subscriber::with_default(warnings.clone(), || sweeper.start());
    warnings.more(1).await;
    let first = server.send(&r1()).await;
    warnings.more(2).await;
    let again = server.send(&r1()).await;
    assert_eq!(bench.count_keys().await, 11);
    bench.place.deletes_again().await;
    eventually(async || bench.count_keys().await == 1).await;

    assert_ran(&first, 201);
    assert_replays(&first, &again);
    assert!(!sweeping.is_finished());
    soon(sweeping.stop()).await;
}

/// Whether a round runs the one statement of a batch, or ends it.
fn runs(round: &Round, statement: &str) -> bool {
    // `READ COMMITTED` stands where it begins.
    round.runs(statement) && !round.runs("BEGIN")
}

// Cases: X-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweeper_goes_on_after_a_lost_connection() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = bench.start_behind_a_proxy().await;
        let lost = [(At::Request, "DELETE", 10), (At::Reply, "DELETE", 10), (At::Reply, "COMMIT", 0)];

        for (at, statement, left) in lost {
            bench.fill("expired", 10, 0).await;
            let warnings = Warnings::default();
            let sweeper = server.app.idempotency.sweeper().every(OFTEN);
            let mut hold = proxy.hold(at, move |round| runs(round, statement));

            let sweeping = tracing::subscriber::with_default(warnings.clone(), || sweeper.start());
            hold.reached().await;
            assert_eq!(bench.count_keys().await, left, "{statement}");
            hold.cut();
            eventually(async || warnings.count() > 0).await;
            // Of those who come later.
            bench.fill("later", 10, 0).await;
            eventually(async || bench.count_keys().await == 0).await;

            soon(sweeping.stop()).await;
        }
        assert_eq!(proxy.errors(), [""; 0], "the server refuses nothing");
    })
    .await;
}

// Cases: X-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweeper_goes_on_after_an_outage() {
    let mut server = OwnServer::start().await;
    let place = PgPlace::on(&server).await;
    run_on(place, async |bench: &Bench<Postgres>| {
        let app =
            bench.server().engine(|builder| builder.acquire_timeout(Duration::from_secs(1))).app().await;
        let warnings = Warnings::default();
        let sweeper = app.idempotency.sweeper().every(OFTEN);
        bench.fill("expired", 10, 0).await;

        let sweeping = tracing::subscriber::with_default(warnings.clone(), || sweeper.start());
        eventually(async || bench.count_keys().await == 0).await;
        server.stop(Shutdown::Fast).await;
        warnings.more(2).await;
        server.start_again().await;
        bench.fill("expired", 10, 0).await;
        eventually(async || bench.count_keys().await == 0).await;

        soon(sweeping.stop()).await;
    })
    .await;
}

// Cases: X-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_is_swept_right_before_it_is_taken_over_is_reserved_anew() {
    run(async |bench: &Bench<Postgres>| {
        let (server, proxy) = bench.start_behind_a_proxy().await;
        assert_ran(&server.send(&r1()).await, 201);
        bench.expire_in(-1).await;
        let other = bench.server().unmigrated().app().await;

        let mut take_over = proxy.hold(At::Request, |round| round.runs("k.expires_at <= now()"));
        let second = server.open(&r1()).await;
        take_over.reached().await;
        let swept = soon(other.idempotency.sweep_once()).await.expect("the database works");
        take_over.release();
        let second = second.answer().await;

        assert_eq!(swept, 1);
        assert_ran(&second, 201);
        assert_replays(&second, &server.send(&r1()).await);
        assert_eq!(server.runs(), 2);
        bench.assert_holds(1, 2).await;
    })
    .await;
}

// Cases: X-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_for_a_row_that_is_being_swept_waits_for_the_batch() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let server = bench.start().await;
        assert_ran(&server.send(&r1()).await, 201);
        bench.expire_in(-1).await;
        let sweeping = bench.server().unmigrated().through(&proxy).app().await;

        let mut commit = proxy.hold(At::Request, |round| runs(round, "COMMIT"));
        let sweep = tokio::spawn(async move { sweeping.idempotency.sweep_once().await });
        commit.reached().await;
        let second = server.open(&r1()).await;
        let waits = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE {} AND wait_event_type = 'Lock'",
            bench.place.sessions()
        );
        eventually(async || bench.place.integer(&waits).await == 1).await;
        commit.release();
        let second = second.answer().await;

        assert_eq!(soon(sweep).await.expect("it does not panic").expect("the database works"), 1);
        assert_ran(&second, 201);
        assert_replays(&second, &server.send(&r1()).await);
        bench.assert_holds(1, 2).await;
    })
    .await;
}

// What a sweep costs those who come meanwhile is measured by `tests/benches/sweep.rs`; this is what that rests on.
// Cases: X-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweeper_pauses_for_nine_times_as_long_as_its_batch_took_and_holds_nothing_meanwhile() {
    const BATCH: Duration = Duration::from_millis(30);
    run(async |bench: &Bench<Postgres>| {
        let app = bench.server().connections(1).app().await;
        bench.fill("expired", 2, 0).await;
        let table = bench.place.key_table();
        let slow = format!(
            "CREATE FUNCTION {table}_is_slow() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN PERFORM pg_sleep({}); RETURN OLD; END $$",
            BATCH.as_secs_f64()
        );
        bench.place.execute(&slow).await;
        let slow = format!(
            "CREATE TRIGGER is_slow BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_is_slow()"
        );
        bench.place.execute(&slow).await;
        let begun = Instant::now();

        let sweeper = app.idempotency.sweeper().batch(1);
        let sweeping = tokio::spawn(async move { sweeper.sweep_once().await });
        eventually(async || bench.count_keys().await == 1).await;
        let only = soon(app.writer.acquire()).await.expect("a connection is free");
        let is_pausing = !sweeping.is_finished() && bench.count_keys().await == 1;
        drop(only);
        let swept = soon(sweeping).await.expect("it does not panic").expect("the database works");

        assert!(is_pausing, "the connection is free in the pause");
        assert_eq!(swept, 2);
        // Two batches of a row, each with its pause, and one that finds nothing.
        assert!(begun.elapsed() >= 2 * 10 * BATCH, "{:?}", begun.elapsed());
    })
    .await;
}

/// Runs a promise of the contract where every session's transactions are of this level unless they say otherwise.
async fn at_default_level(level: &str, promise: impl AsyncFnOnce(&Bench<Postgres>)) {
    let place = PgPlace::create().await.with_parameter("default_transaction_isolation", level);
    run_on(place, promise).await;
}

// Cases
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sessions_own_level_does_not_matter() {
    for level in ["repeatable read", "serializable"] {
        at_default_level(level, only_what_has_expired_is_swept).await;
        at_default_level(level, sweepers_do_not_meet).await;
        at_default_level(level, a_running_take_over_is_not_swept).await;
        at_default_level(level, a_crowd_on_a_key_that_is_swept_runs_once).await;
    }
}

// Cases: X-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_leaves_its_session_as_it_was() {
    run(async |bench: &Bench<Postgres>| {
        let app = bench.server().connections(1).app().await;
        bench.fill("expired", 10, 0).await;
        let settings = "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings
                        WHERE name LIKE '%timeout%' OR name LIKE '%isolation%'";
        let read = async || sqlx::query_scalar::<_, String>(settings).fetch_one(&app.writer).await;
        let before = read().await.expect("the settings can be read");

        assert_eq!(app.idempotency.sweep_once().await.expect("the database works"), 10);

        assert_eq!(read().await.expect("the settings can be read"), before);
        let names = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%SKIP LOCKED%'";
        let names = sqlx::raw_sql(names).fetch_one(&app.writer).await.expect("they can be counted");
        assert_eq!(names.get::<i64, _>(0), 0, "planned anew each time");
    })
    .await;
}

// Cases: X-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_may_not_delete_is_told_so_and_serves_requests() {
    run(async |bench: &Bench<Postgres>| {
        drop(bench.start().await);
        let role = bench.place.role_with_the_tables().await;
        let server = bench.server().session("role", &role).unmigrated().start().await;
        bench.fill("expired", 10, 0).await;

        let refused = soon(server.app.idempotency.sweep_once()).await.expect_err("the role may not delete");
        assert_ran(&server.send(&r1()).await, 201);
        bench.place.execute(&format!("GRANT DELETE ON {} TO {role}", bench.place.key_table())).await;
        let swept = soon(server.app.idempotency.sweep_once()).await.expect("now it may");

        let Error::Store(sqlx::Error::Database(error)) = &refused else { panic!("{refused:?}") };
        assert_eq!(error.code().as_deref(), Some("42501"));
        assert_eq!(swept, 10);
    })
    .await;
}

// Cases: T-22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_whose_server_takes_no_writes_is_not_healthy() {
    run(async |bench: &Bench<Postgres>| {
        drop(bench.start().await);
        let standby = bench.server().session("default_transaction_read_only", "on").unmigrated().app().await;

        let error = soon(standby.idempotency.health()).await.expect_err("no key can be reserved");

        assert!(matches!(error, Error::ReadOnly), "{error:?}");
    })
    .await;
}

// Cases: T-21
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_asked_in_one_message_and_waits_no_longer_than_it_may() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let limit = Duration::from_millis(200);
        let app =
            bench.server().through(&proxy).engine(move |builder| builder.acquire_timeout(limit)).app().await;
        soon(app.idempotency.health()).await.expect("the database works");
        proxy.forget();

        soon(app.idempotency.health()).await.expect("the database works");
        let rounds = proxy.rounds();
        let asked = rounds.iter().filter(|round| round.kind != RoundKind::Ping).count();
        let hold = proxy.hold(At::Reply, |round| round.runs("transaction_read_only"));
        let silent = soon(app.idempotency.health()).await.expect_err("no reply comes");
        drop(hold);

        assert_eq!(asked, 1, "{rounds:?}");
        assert!(matches!(&silent, Error::Store(sqlx::Error::Io(_))), "{silent:?}");
        soon(app.idempotency.health()).await.expect("the database works");
    })
    .await;
}
