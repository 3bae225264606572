//! The advisory locks of PostgreSQL that tell a duplicate of the first.

use idem_tests::bench::{Bench, run};
use idem_tests::database::Place as _;
use idem_tests::http::r1;
use idem_tests::patience::eventually;
use idem_tests::problem::assert_problem;
use idem_tests::same::{assert_ran, assert_replays};
use sqlx::Postgres;

/// The application's sessions of this bench that hold an advisory lock.
fn holders(bench: &Bench<Postgres>) -> String {
    let sessions = bench.place.sessions();
    format!("locktype = 'advisory' AND pid IN (SELECT pid FROM pg_stat_activity WHERE {sessions})")
}

// A lock of the session stays with its connection, and behind a pooler with somebody else's.
// Reports: B60
#[tokio::test]
async fn no_lock_outlives_its_transaction() {
    run(async |bench: &Bench<Postgres>| {
        let proxy = bench.proxy().await;
        let server = bench.server().through(&proxy).start().await;
        let held = format!("SELECT count(*) FROM pg_locks WHERE {}", holders(bench));

        let slow = server.open_up_to_the_gate(&r1().path("/slow")).await;
        assert_eq!(bench.place.integer(&held).await, 1, "one for the request that runs");
        server.gate().open();
        assert_ran(&slow.answer().await, 201);
        assert_ran(&server.send(&r1()).await, 201);
        assert!(server.send(&r1()).await.is_replay());
        assert_problem(&server.send(&r1().body(r#"{"item":"tea","qty":2}"#)).await, "idempotency_key_reused");
        assert_ran(&server.send(&r1().path("/err")).await, 422);
        assert_eq!(server.open(&r1().path("/panic")).await.outcome().await, None);
        bench.expire_in(-1).await;
        assert_ran(&server.send(&r1()).await, 201);

        eventually(async || bench.place.integer(&held).await == 0).await;
        let locking: Vec<_> =
            proxy.rounds().into_iter().filter(|round| round.sql.contains("advisory")).collect();
        assert!(!locking.is_empty());
        for round in locking {
            let sql = round.sql;
            assert_eq!(sql.matches("advisory").count(), sql.matches("advisory_xact_lock").count(), "{sql}");
        }
    })
    .await;
}

// Locks are told apart by 64 bits of the id, so that two keys of one lock are not to be had: another holder of the same
// lock stands in for the other key.
// Reports: B22
#[tokio::test]
async fn a_lock_that_another_key_happens_to_share_costs_a_409_and_no_more() {
    run(async |bench: &Bench<Postgres>| {
        let server = bench.start().await;
        let slow = r1().path("/slow");
        let first = server.open_up_to_the_gate(&slow).await;
        let lock = "SELECT (classid::bigint << 32 | objid::bigint) FROM pg_locks WHERE";
        let lock = bench.place.integer(&format!("{lock} {}", holders(bench))).await;
        server.gate().open();
        let first = first.answer().await;
        bench.expire_in(-1).await;

        let mut holder = bench.place.pool().begin().await.expect("the server is there");
        let held = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(lock).execute(&mut *holder).await;
        held.expect("the lock is free");
        let meanwhile = server.send(&slow).await;
        holder.rollback().await.expect("the lock is let go");
        let again = server.retry(&slow).await;

        assert_ran(&first, 201);
        assert_problem(&meanwhile, "idempotency_in_progress");
        assert_ran(&again, 201);
        assert_replays(&again, &server.send(&slow).await);
        assert_eq!(server.runs(), 2);
        bench.assert_holds(1, 2).await;
    })
    .await;
}
