//! Many requests at the same time, in two processes and at other isolation levels.

use idem_runtime::Isolation;
use idem_tests::bench::{Bench, run, run_on_own_database};
use idem_tests::database::{KeyRow, Place as _};
use idem_tests::http::{Answer, open, r1};
use idem_tests::patience::soon;
use idem_tests::process::Process;
use idem_tests::same::{assert_one_run, assert_ran};
use sqlx::Postgres;
use tokio::task::JoinSet;

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

// Cases: C-05, C-11, R-18
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
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeatable_read_runs_once_and_tells_nobody_of_its_conflicts() {
    assert_one_run_at(Isolation::RepeatableRead).await;
}

// Cases: C-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serializable_runs_once_and_tells_nobody_of_its_conflicts() {
    assert_one_run_at(Isolation::Serializable).await;
}

// Cases: C-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serializable_requests_with_keys_of_their_own_do_not_conflict() {
    run(async |bench: &Bench<Postgres>| {
        let level = |builder: idem_runtime::Builder<Postgres>| builder.isolation(Isolation::Serializable);
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

// Cases: C-05, T-09
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
        let keys = bench
            .key_rows()
            .await
            .into_iter()
            .map(|row: KeyRow| row.key)
            .collect::<std::collections::BTreeSet<_>>();
        assert_eq!(keys.len(), 30);
        bench.assert_holds(30, 30).await;
    })
    .await;
}
