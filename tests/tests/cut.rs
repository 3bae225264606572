//! The connection to PostgreSQL is lost in each message of a request, on either side of the server.
//!
//! What the client is told is a matter of the position alone, and so is what the retry comes to.

use idem_runtime::{Builder, Isolation};
use idem_tests::bench::{Bench, run, run_with};
use idem_tests::faults::{Case, Counted, Kind, Moment, Recording, Told, is_long};
use idem_tests::http::{Answer, r1};
use idem_tests::patience::eventually;
use idem_tests::problem::assert_problem;
use idem_tests::proxy::{At, Hold, PgProxy};
use idem_tests::same::{assert_ran, assert_replays};
use idem_tests::server::Server;
use sqlx::{Connection as _, Postgres};

/// How the connection is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Between two messages.
    Cut,
    /// In the middle of a message.
    CutMidway,
    /// The server ends the session (SQLSTATE 57P01), while a message is on its way.
    Terminate,
}

impl Fault {
    async fn strike(self, bench: &Bench<Postgres>, hold: Hold) {
        match self {
            Self::Cut => hold.cut(),
            Self::CutMidway => hold.cut_midway(),
            Self::Terminate => {
                assert_eq!(bench.place.terminate_sessions().await, 1, "the pool has one connection");
                eventually(async || bench.place.count_sessions().await == 0).await;
                hold.release();
            }
        }
    }

    /// The moment at which the loss shows; `None` if the request has no more to ask.
    fn shows_at(self, recording: &Recording, moment: Moment) -> Option<Moment> {
        if self == Self::Terminate { recording.missed_at(moment) } else { Some(moment) }
    }
}

/// Whether the request finds a connection on which it has run before, or has to make one and prepare everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    Warm,
    Cold,
}

impl Connection {
    /// Makes a request ready to be sent, with the only connection of the pool in this state and nobody at work on it.
    async fn prepare(self, bench: &Bench<Postgres>, server: &Server<Postgres>, kind: Kind) -> Case {
        if self == Self::Warm {
            let like_it = Case::prepare(kind, bench, server.address).await;
            server.send(&like_it.request).await;
        }
        let case = Case::prepare(kind, bench, server.address).await;
        if self == Self::Cold {
            close_the_connection(server).await;
        } else {
            is_back(server).await;
        }
        case
    }
}

/// Has the pool make a connection anew for the next request.
async fn close_the_connection(server: &Server<Postgres>) {
    let connection = server.app.writer.acquire().await.expect("the connection can be had");
    connection.detach().close().await.expect("the connection works");
}

/// Waits until the pool has looked at the connection that was given back to it.
async fn is_back(server: &Server<Postgres>) {
    eventually(async || server.app.writer.num_idle() == 1).await;
}

/// One run through all moments of a request.
struct Sweep {
    kind: Kind,
    fault: Fault,
    connection: Connection,
    engine: fn(Builder<Postgres>) -> Builder<Postgres>,
}

impl Sweep {
    async fn run(self) {
        run_with(self.engine, async |bench: &Bench<Postgres>| {
            let proxy = bench.proxy().await;
            let server = bench.server().connections(1).through(&proxy).start().await;
            let recording = self.record(bench, &server, &proxy).await;

            for moment in recording.moments() {
                // Shown if the test fails; the last line tells where.
                eprintln!("{:?} {}", self.fault, recording.describe(moment));
                self.strike(bench, &server, &proxy, &recording, moment).await;
            }
        })
        .await;
    }

    async fn record(&self, bench: &Bench<Postgres>, server: &Server<Postgres>, proxy: &PgProxy) -> Recording {
        // The engine looks at its table before its first request, and never again.
        assert_ran(&server.send(&r1()).await, 201);
        let case = self.connection.prepare(bench, server, self.kind).await;
        proxy.forget();
        let answer = server.send(&case.request).await;
        is_back(server).await;
        let recording = Recording::of(self.kind, Counted::Messages, proxy);
        case.assert_right(bench, &answer, false).await;
        recording
    }

    async fn strike(
        &self,
        bench: &Bench<Postgres>,
        server: &Server<Postgres>,
        proxy: &PgProxy,
        recording: &Recording,
        moment: Moment,
    ) {
        let case = self.connection.prepare(bench, server, self.kind).await;
        let mut hold = recording.hold(proxy, moment);
        let first = server.open(&case.request).await;
        hold.reached().await;
        recording.assert_at(proxy, moment);
        self.fault.strike(bench, hold).await;
        let first = first.answer().await;

        let expected = self.fault.shows_at(recording, moment).map(|moment| recording.expected(moment));
        let (told, is_done) =
            expected.map_or((Told::Right, true), |expected| (expected.told, expected.is_done));
        assert_told(&first, told, self.kind);
        case.assert_done(bench, is_done).await;
        let again = server.retry(&case.request).await;
        case.assert_right(bench, &again, is_done).await;
        if told == Told::Right && is_done && self.kind != Kind::Mismatch {
            assert_replays(&first, &again);
        }
    }
}

fn assert_told(answer: &Answer, told: Told, kind: Kind) {
    match told {
        Told::Right => kind.assert_status(answer),
        Told::Problem(code) => assert_problem(answer, code),
        Told::Application => {
            assert_ran(answer, 500);
            assert_eq!(answer.text(), r#"{"error":"database"}"#);
        }
    }
}

/// Has the fault strike requests of these kinds at each moment.
async fn sweep(
    kinds: &[Kind],
    fault: Fault,
    connection: Connection,
    engine: fn(Builder<Postgres>) -> Builder<Postgres>,
) {
    for &kind in kinds {
        Sweep { kind, fault, connection, engine }.run().await;
    }
}

/// The kinds that have all statements between them; in a long run each kind there is.
fn writers() -> &'static [Kind] {
    if is_long() { &Kind::ALL } else { &[Kind::Success, Kind::Failure, Kind::TakeOver] }
}

// Cases: T-06, T-07, T-22, T-24
// Reports: B56
#[tokio::test]
async fn a_connection_cut_before_or_after_any_message_is_told_by_what_the_message_was() {
    sweep(&Kind::ALL, Fault::Cut, Connection::Cold, |builder| builder).await;
}

// Cases: T-06, T-07, T-22, T-24
#[tokio::test]
async fn a_connection_cut_in_the_middle_of_any_message_is_told_by_what_the_message_was() {
    sweep(writers(), Fault::CutMidway, Connection::Cold, |builder| builder).await;
}

// Cases: T-06, T-07, T-22, T-24
#[tokio::test]
async fn a_session_ended_by_the_server_at_any_message_is_told_by_what_the_message_was() {
    sweep(&Kind::ALL, Fault::Terminate, Connection::Warm, |builder| builder).await;
}

// Cases: T-06, T-07
#[tokio::test]
async fn a_connection_cut_in_a_serializable_run_is_told_by_what_the_message_was() {
    let level = |builder: Builder<Postgres>| builder.isolation(Isolation::Serializable);
    sweep(writers(), Fault::Cut, Connection::Warm, level).await;
}

// Cases: T-06, T-07, Z-11
#[tokio::test]
async fn a_connection_cut_without_advisory_locks_and_xmin_is_told_by_what_the_message_was() {
    let without = |builder: Builder<Postgres>| builder.advisory_locks(false).xmin_check(false);
    sweep(writers(), Fault::Cut, Connection::Warm, without).await;
}

// Cases: T-22
#[tokio::test]
async fn a_connection_cut_while_the_table_is_looked_at_is_unavailable() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        drop(bench.start().await);
        for at in [At::Request, At::Reply] {
            // An engine looks at its table once, in one message, unless it has looked when it made it.
            let server = bench.server().unmigrated().connections(1).through(&proxy).start().await;
            let request = r1().fresh_key();

            let mut hold = proxy.hold(at, |round| round.runs("FROM pg_class"));
            let first = server.open(&request).await;
            hold.reached().await;
            hold.cut();

            assert_problem(&first.answer().await, "idempotency_store_unavailable");
            assert_ran(&server.send(&request).await, 201);
            assert_eq!(server.runs(), 1);
        }
        bench.assert_holds(2, 2).await;
    })
    .await;
}

// Cases: T-22
#[tokio::test]
async fn a_connection_cut_at_any_message_of_its_start_is_unavailable_and_the_next_one_is_had() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let server = bench.server().connections(1).through(&proxy).start().await;
        let mut refused = 0;
        loop {
            is_back(&server).await;
            close_the_connection(&server).await;
            let request = r1().fresh_key();
            proxy.cut_next_start(refused);
            let first = server.send(&request).await;
            if first.status == 201 {
                break;
            }
            assert_problem(&first, "idempotency_store_unavailable");
            assert_ran(&server.send(&request).await, 201);
            refused += 1;
        }

        // A request to start, authentication, settings, "ready".
        assert!(refused > 4, "{refused} messages of a start were cut");
        let runs = refused + 1;
        assert_eq!(server.runs(), u64::try_from(runs).expect("few"));
        bench.assert_holds(runs, i64::try_from(runs).expect("few")).await;
    })
    .await;
}
