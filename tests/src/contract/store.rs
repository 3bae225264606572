//! What a request is told when the database is not as it should be.

use std::time::Duration;

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::r1;
use crate::problem::assert_problem;
use crate::same::assert_ran;

// Cases: T-21, Z-02
// Reports: B61
pub async fn a_request_that_gets_no_connection_is_not_run<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench
        .server()
        .connections(1)
        .engine(|builder| builder.acquire_timeout(Duration::from_millis(100)))
        .start()
        .await;

    let first = server.open_up_to_the_gate(&r1().path("/slow")).await;
    let refused = server.send(&r1().key("\"k-0002\"")).await;
    server.gate().open();

    assert_problem(&refused, "idempotency_store_unavailable");
    assert_ran(&first.answer().await, 201);
    assert_eq!(server.runs(), 1);
    bench.assert_holds(1, 1).await;
    assert_ran(&server.send(&r1().key("\"k-0002\"")).await, 201);
}

// Cases: T-22
pub async fn a_request_without_a_database_is_not_run<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    server.app.writer.close().await;
    server.app.reader.close().await;
    let refused = server.send(&r1()).await;

    assert_problem(&refused, "idempotency_store_unavailable");
    assert_eq!(server.runs(), 0);
    bench.assert_holds(0, 0).await;
}

// Cases: T-23
pub async fn a_request_without_the_key_table_is_not_run<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.server().unmigrated().start().await;

    for _ in 0..2 {
        assert_problem(&server.send(&r1()).await, "idempotency_store_misconfigured");
    }
    assert_eq!(server.runs(), 0);
    assert_eq!(bench.count("orders").await, 0);
    server.app.idempotency.migrate().await.expect("the key table can be created late");

    assert_ran(&server.send(&r1()).await, 201);
    bench.assert_holds(1, 1).await;
}

// Cases: T-23
pub async fn a_key_table_that_is_dropped_meanwhile_is_noticed<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    assert_ran(&server.send(&r1()).await, 201);

    bench.place.execute(&format!("DROP TABLE {}", bench.place.key_table())).await;
    let refused = server.send(&r1()).await;

    assert_problem(&refused, "idempotency_store_misconfigured");
    assert_eq!(server.runs(), 1);
    assert_eq!(bench.count("orders").await, 1);
}
