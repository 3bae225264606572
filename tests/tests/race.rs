//! Many requests at the same time, in two processes and at other isolation levels.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::post;
use idem_examples::reference::{
    App, AppError, Database as _, Gate, NewOrder, Probe, TenantId, Value, insert_order,
};
use idem_runtime::{Builder, Isolation, idempotent};
use idem_tests::bench::{Bench, run, run_on_own_database};
use idem_tests::database::{KeyRow, Place as _};
use idem_tests::hand::Hand;
use idem_tests::http::{Answer, open, r1};
use idem_tests::patience::{eventually, soon};
use idem_tests::problem::assert_problem;
use idem_tests::process::Process;
use idem_tests::proxy::At;
use idem_tests::same::{assert_one_run, assert_ran, assert_replays};
use sqlx::{PgConnection, Postgres};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

// Cases: C-05, C-11, R-18
// Reports: B01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_requests_to_two_processes_run_once() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let url = bench.place.url(None);
        let processes = [Process::start(PROGRAM, &url).await, Process::start(PROGRAM, &url).await];

        let mut clients = JoinSet::new();
        for client in 0..200 {
            let address = processes[client % 2].address;
            clients.spawn(async move { open(address, &r1()).await.answer().await });
        }
        let answers = soon(clients.join_all()).await;

        assert_eq!(answers.len(), 200);
        assert_one_run(&answers);
        assert_eq!(processes[0].runs().await + processes[1].runs().await, 1);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

/// Sends R1 twenty times at once to two servers at this level, five times over.
async fn assert_one_run_at(level: Isolation) {
    run(async |bench: &Bench<Postgres>| {
        let servers = [
            bench.server().engine(move |builder| builder.isolation(level)).start().await,
            bench.server().engine(move |builder| builder.isolation(level)).start().await,
        ];

        for round in 0..5 {
            let request = r1().key(format!("\"k-{round}\""));
            let mut clients = JoinSet::new();
            for client in 0..20 {
                let (address, request) = (servers[client % 2].address, request.clone());
                clients.spawn(async move { open(address, &request).await.answer().await });
            }
            assert_one_run(&soon(clients.join_all()).await);
        }

        assert_eq!(servers[0].runs() + servers[1].runs(), 5);
        bench.assert_holds(5, 5).await;
    })
    .await;
}

// Cases: C-09
// Reports: B34
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeatable_read_runs_once_and_tells_nobody_of_its_conflicts() {
    assert_one_run_at(Isolation::RepeatableRead).await;
}

// Cases: C-09
// Reports: B34
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serializable_runs_once_and_tells_nobody_of_its_conflicts() {
    assert_one_run_at(Isolation::Serializable).await;
}

// Cases: C-16
// Reports: B33
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serializable_requests_with_keys_of_their_own_do_not_conflict() {
    run(async |bench: &Bench<Postgres>| {
        let level = |builder: Builder<Postgres>| builder.isolation(Isolation::Serializable);
        let server = bench.server().engine(level).start().await;
        for _ in 0..20 {
            assert_ran(&server.send(&r1().fresh_key()).await, 201);
        }
        // The planner now knows that the table is small, and prefers to read it as a whole.
        bench.place.execute(&format!("ANALYZE {}", bench.place.key_table())).await;

        let mut clients = JoinSet::new();
        for _ in 0..8 {
            let address = server.address;
            clients.spawn(async move {
                let mut answers = Vec::new();
                for _ in 0..25 {
                    answers.push(open(address, &r1().fresh_key()).await.answer().await);
                }
                answers
            });
        }
        let answers = soon(clients.join_all()).await.concat();

        assert_eq!(answers.len(), 200);
        for answer in &answers {
            assert_ran(answer, 201);
        }
        bench.assert_holds(220, 220).await;
    })
    .await;
}

/// Reads what another of its kind writes, so that two of them at once cannot both be right.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn orders_the_next(
    tx: &mut PgConnection,
    tenant: TenantId,
    State(probe): State<Probe>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    let qty = Postgres::integer(&mut *tx, "SELECT count(*) FROM orders", &[]).await?.unwrap_or_default();
    probe.gate.pass().await;
    let order = NewOrder { item: "tea".to_owned(), qty, order_no: None };
    insert_order::<Postgres>(&mut *tx, &tenant, &order).await?;
    Ok(StatusCode::CREATED)
}

// Cases: C-09
// Reports: B32
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_cannot_be_serialized_is_transient() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new().route("/orders", post(orders_the_next));
        let level = |builder: Builder<Postgres>| builder.isolation(Isolation::Serializable);
        let server = bench.server().engine(level).routes(routes).start().await;
        let requests = [r1().key("k-1"), r1().key("k-2")];

        let pending =
            [server.open_up_to_the_gate(&requests[0]).await, server.open_up_to_the_gate(&requests[1]).await];
        server.gate().open();
        let mut lost = None;
        for (request, pending) in requests.iter().zip(pending) {
            let answer = pending.answer().await;
            if answer.status != 201 {
                // Where PostgreSQL notices is its own affair: at the handler's write, at RECORD or at COMMIT.
                if answer.status == 503 {
                    assert_problem(&answer, "idempotency_transient");
                } else {
                    assert_ran(&answer, 500);
                }
                assert!(lost.replace(request).is_none(), "one of the two is right");
            }
        }

        let lost = lost.expect("one of the two cannot be right");
        bench.assert_holds(1, 1).await;
        assert_ran(&server.send(lost).await, 201);
        bench.assert_holds(2, 2).await;
        assert_eq!(bench.place.integer("SELECT sum(qty)::bigint FROM orders").await, 1, "0, then 1");
    })
    .await;
}

// Cases: Z-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_cannot_be_serialized_leaves_nothing_and_its_retry_runs() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new().route("/orders", post(orders_the_next));
        let level = |builder: Builder<Postgres>| builder.isolation(Isolation::Serializable);
        let proxy = bench.proxy().await;
        let server = bench.server().through(&proxy).engine(level).routes(routes).start().await;
        server.gate().open();

        let mut commit = proxy.hold(At::Request, |round| round.runs("COMMIT"));
        let losing = server.open(&r1()).await;
        commit.reached().await;
        // Each has read what the other writes, and this one commits first.
        let other = "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM orders; \
                     INSERT INTO orders (tenant, item, qty) VALUES ('t1', 'tea', 0); COMMIT";
        soon(sqlx::raw_sql(other).execute(bench.place.pool())).await.expect("the first is right");
        commit.release();
        let lost = losing.answer().await;

        assert_problem(&lost, "idempotency_transient");
        bench.assert_holds(0, 1).await;
        assert_ran(&server.send(&r1()).await, 201);
        bench.assert_holds(1, 2).await;
        assert_eq!(bench.place.integer("SELECT sum(qty)::bigint FROM orders").await, 1, "0, then 1");
    })
    .await;
}

/// Adds one to two counters, with the gate in between.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn counts_two(
    tx: &mut PgConnection,
    tenant: TenantId,
    State(probe): State<Probe>,
    Path((one, other)): Path<(i64, i64)>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    let sql = "UPDATE counters SET n = n + 1 WHERE tenant = $1 AND id = $2";
    Postgres::execute(&mut *tx, sql, &[Value::Text(&tenant.0), Value::Int(one)]).await?;
    probe.gate.pass().await;
    Postgres::execute(&mut *tx, sql, &[Value::Text(&tenant.0), Value::Int(other)]).await?;
    Ok(StatusCode::CREATED)
}

// Cases: T-13
// Reports: B32
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_victim_of_a_deadlock_can_try_again() {
    run(async |bench: &Bench<Postgres>| {
        let routes = Router::<App<Postgres>>::new().route("/{one}/{other}", post(counts_two));
        let server = bench.server().routes(routes).start().await;
        bench.place.execute("INSERT INTO counters (tenant, id, n) VALUES ('t1', 1, 0), ('t1', 2, 0)").await;
        let requests = [r1().path("/1/2").key("k-1"), r1().path("/2/1").key("k-2")];

        let pending =
            [server.open_up_to_the_gate(&requests[0]).await, server.open_up_to_the_gate(&requests[1]).await];
        server.gate().open();
        let [one, other] = pending;
        let answers = [one.answer().await, other.answer().await];

        let victim = usize::from(answers[1].status != 201);
        assert_ran(&answers[1 - victim], 201);
        assert_ran(&answers[victim], 500);
        assert_eq!(answers[victim].text(), r#"{"error":"database"}"#);
        assert_eq!(bench.key_rows().await.len(), 1);
        assert_ran(&server.send(&requests[victim]).await, 201);
        assert_eq!(bench.key_rows().await.len(), 2);
        assert_eq!(bench.place.integer("SELECT min(n) FROM counters").await, 2);
        assert_eq!(bench.place.integer("SELECT max(n) FROM counters").await, 2);
    })
    .await;
}

// Cases: C-05, T-09
// Reports: B34
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_keys_with_many_requests_each_are_one_order_each() {
    run(async |bench: &Bench<Postgres>| {
        let servers = [bench.start().await, bench.start().await];

        let mut clients = JoinSet::new();
        for request in 0..300 {
            let address = servers[request % 2].address;
            let key = format!("\"k-{}\"", request / 10);
            clients.spawn(async move { (key.clone(), open(address, &r1().key(key)).await.answer().await) });
        }
        let mut answers = soon(clients.join_all()).await;
        answers.sort_by(|(one, _), (other, _)| one.cmp(other));

        for group in answers.chunks(10) {
            let group = group.iter().map(|(_, answer)| answer.clone()).collect::<Vec<Answer>>();
            assert_one_run(&group);
        }
        let keys = bench.key_rows().await.into_iter().map(|row: KeyRow| row.key).collect::<BTreeSet<_>>();
        assert_eq!(keys.len(), 30);
        bench.assert_holds(30, 30).await;
    })
    .await;
}

/// A handler that panics in its first runs and creates in the others, and whose duplicates wait as long as any test
/// takes.
#[expect(clippy::result_large_err, reason = "a `Hand` asks for it")]
fn patient(panics: usize) -> Hand<Postgres> {
    Hand::new(move |run, _| {
        assert!(run > panics, "the handler was told to");
        Ok(StatusCode::CREATED.into_response())
    })
    .described(|operation, _| operation.wait(Duration::from_secs(10)))
}

/// Sends R1 so many times at once to two processes with this handler each.
async fn crowd(bench: &Bench<Postgres>, hands: [&Hand<Postgres>; 2], count: usize) -> Vec<Option<Answer>> {
    let mut servers = Vec::new();
    for hand in hands {
        servers.push(bench.server().connections(5).routes(hand.routes()).start().await);
    }
    let mut clients = JoinSet::new();
    for client in 0..count {
        let address = servers[client % 2].address;
        clients.spawn(async move { open(address, &r1()).await.outcome().await });
    }
    soon(clients.join_all()).await
}

// Cases: C-02, C-05, C-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_crowd_that_waits_in_two_processes_one_runs_and_nobody_is_refused() {
    run(async |bench: &Bench<Postgres>| {
        let (one, two) = (patient(0), patient(0));

        let answers = crowd(bench, [&one, &two], 100).await;

        let answers: Vec<_> = answers.into_iter().map(|answer| answer.expect("an answer")).collect();
        assert_one_run(&answers);
        assert!(answers.iter().all(|answer| answer.status == 201), "nobody is told that it was in progress");
        assert_eq!(one.runs() + two.runs(), 1);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: C-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_goes_on_waiting_while_one_after_the_other_leaves_nothing() {
    run(async |bench: &Bench<Postgres>| {
        let (one, two) = (patient(3), patient(3));

        let answers = crowd(bench, [&one, &two], 60).await;

        // A panic closes the connection.
        let (answered, panicked): (Vec<_>, Vec<_>) = answers.into_iter().partition(Option::is_some);
        let answered: Vec<_> = answered.into_iter().flatten().collect();
        assert_one_run(&answered);
        assert!(answered.iter().all(|answer| answer.status == 201), "{answered:?}");
        assert_eq!(one.runs() + two.runs(), panicked.len() + 1);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Cases: C-02, C-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_behind_a_client_that_leaves_goes_on_waiting() {
    run(async |bench: &Bench<Postgres>| {
        let gate = Gate::default();
        let first_server = bench.server().routes(patient(0).at_gate(&gate).routes()).start().await;
        let hand = patient(0);
        let server = bench.server().routes(hand.routes()).start().await;

        let first = first_server.open(&r1()).await;
        soon(gate.arrivals(1)).await;
        let asking = server.open(&r1()).await;
        hand.arrivals(1).await;
        let behind = server.open(&r1()).await;
        hand.arrivals(2).await;
        drop(asking);
        gate.open();
        let first = first.answer().await;

        assert_ran(&first, 201);
        assert_replays(&first, &behind.answer().await);
        assert_eq!(hand.runs(), 0);
    })
    .await;
}

// Cases: C-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_ends_its_wait_for_another_process() {
    run(async |bench: &Bench<Postgres>| {
        let gate = Gate::default();
        let first_hand = patient(0).at_gate(&gate);
        let first_server = bench.server().routes(first_hand.routes()).start().await;
        let hand = patient(0);
        let proxy = bench.proxy().await;
        let server = bench.server().through(&proxy).routes(hand.routes()).start().await;
        let attempts = || proxy.rounds().iter().filter(|round| round.runs("INSERT INTO")).count();

        let first = first_server.open(&r1()).await;
        soon(gate.arrivals(1)).await;
        let duplicates = [server.open(&r1()).await, server.open(&r1()).await];
        eventually(async || attempts() >= 3).await;
        let left = Instant::now();
        drop(duplicates);
        // Longer than any pause between two attempts.
        eventually(async || {
            proxy.forget();
            sleep(Duration::from_millis(400)).await;
            attempts() == 0
        })
        .await;

        assert!(
            left.elapsed() < Duration::from_secs(5),
            "its own time had not run out: {:?}",
            left.elapsed()
        );
        gate.open();
        assert_ran(&first.answer().await, 201);
        assert_eq!(hand.runs(), 0);
        bench.assert_holds(1, 1).await;
    })
    .await;
}

// Every duplicate of the process was told 503.
// Cases: C-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_fails_does_not_end_the_wait() {
    run(async |bench: &Bench<Postgres>| {
        let gate = Gate::default();
        let first_server = bench.server().routes(patient(0).at_gate(&gate).routes()).start().await;
        let hand = patient(0);
        let proxy = bench.proxy().await;
        let server = bench.server().through(&proxy).routes(hand.routes()).start().await;
        let attempts = || proxy.rounds().iter().filter(|round| round.runs("INSERT INTO")).count();

        let first = first_server.open(&r1()).await;
        soon(gate.arrivals(1)).await;
        let duplicates = [server.open(&r1()).await, server.open(&r1()).await];
        hand.arrivals(2).await;
        // From the second on, an attempt is known to be one of a wait.
        eventually(async || attempts() >= 2).await;
        for _ in 0..2 {
            let mut attempt = proxy.hold(At::Reply, |round| round.runs("INSERT INTO"));
            attempt.reached().await;
            attempt.cut();
        }
        let so_far = attempts();
        eventually(async || attempts() > so_far).await;
        gate.open();

        let first = first.answer().await;
        assert_ran(&first, 201);
        for duplicate in duplicates {
            assert_replays(&first, &duplicate.answer().await);
        }
        assert_eq!(hand.runs(), 0);
    })
    .await;
}

// A random history showed it. A key that has just expired is replayed rather than run for as long as one look-up takes.
// Cases: C-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_during_a_look_up_is_given_what_it_finds_though_that_expires_meanwhile() {
    run(async |bench: &Bench<Postgres>| {
        let hand = patient(0);
        let proxy = bench.proxy().await;
        let server = bench.server().through(&proxy).routes(hand.routes()).start().await;
        let first = server.send(&r1()).await;
        assert_ran(&first, 201);

        let mut look_up = proxy.hold(At::Reply, |round| round.runs("holds_lock"));
        let before = server.open(&r1()).await;
        look_up.reached().await;
        bench.expire_in(-1).await;
        let behind = server.open(&r1()).await;
        hand.arrivals(3).await;
        look_up.release();

        assert_replays(&first, &before.answer().await);
        assert_replays(&first, &behind.answer().await);
        assert_eq!(hand.runs(), 1);
        assert_ran(&server.send(&r1()).await, 201);
        assert_eq!(hand.runs(), 2);
    })
    .await;
}
