//! A process that stands still while its request runs, and goes on when another has answered.

use idem_tests::bench::{Bench, run_on_own_database};
use idem_tests::http::{Request, open, r1};
use idem_tests::patience::eventually;
use idem_tests::problem::assert_problem;
use idem_tests::process::Process;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::Postgres;

/// The reference server's program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_reference");

// Reports: B26, B58
#[tokio::test]
async fn a_run_is_not_taken_over_while_its_session_lives_and_cannot_commit_afterwards() {
    run_on_own_database(async |bench: &Bench<Postgres>| {
        let url = bench.place.url(None);
        let (frozen, other) = (Process::start(PROGRAM, &url).await, Process::start(PROGRAM, &url).await);
        let slow = r1().path("/slow");

        let first = open(frozen.address, &slow).await;
        assert_ran(&frozen.send(&Request::new("GET", "/gate?waiting=1")).await, 204);
        frozen.freeze().await;
        // Nobody can tell a frozen owner from a slow one, and nobody tries: there is no lease that runs out.
        for _ in 0..3 {
            assert_problem(&other.send(&slow).await, "idempotency_in_progress");
        }
        eventually(async || bench.place.sessions_in_transaction().await == 1).await;
        // What the server itself does once `idle_in_transaction_session_timeout` is over.
        assert_eq!(bench.place.terminate_transactions().await, 1);
        assert_ran(&other.send(&Request::new("POST", "/gate")).await, 204);
        let taken_over = other.retry(&slow).await;
        frozen.thaw().await;
        assert_ran(&frozen.send(&Request::new("POST", "/gate")).await, 204);

        assert_ran(&taken_over, 201);
        assert_problem(&first.answer().await, "idempotency_transient");
        assert_replays(&taken_over, &frozen.send(&slow).await);
        assert_eq!((frozen.runs().await, other.runs().await), (1, 1));
        bench.assert_holds(1, 1).await;
        bench.assert_newest_order(taken_over.id(), 1).await;
    })
    .await;
}
