//! What a readiness probe is told of an engine.

use std::time::Duration;

use idem_runtime::Error;

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::r1;
use crate::patience::soon;
use crate::same::assert_ran;

// Cases: T-23
pub async fn an_engine_whose_table_can_be_read_is_ready<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let slow = r1().path("/slow");

    let idle = soon(server.app.idempotency.health()).await.expect("the database works");
    let first = server.open_up_to_the_gate(&slow).await;
    let duplicate = server.send(&slow).await;
    let busy = soon(server.app.idempotency.health()).await.expect("the database works");
    server.gate().open();
    assert_ran(&first.answer().await, 201);
    let afterwards = soon(server.app.idempotency.health()).await.expect("the database works");

    assert_ran(&duplicate, 409);
    assert!(idle.is_ready() && idle.is_enabled && !idle.is_draining, "{idle:?}");
    assert_eq!([idle, busy.clone(), afterwards].map(|health| health.keys_in_progress), [0, 1, 0]);
    assert!(busy.is_ready(), "{busy:?}");
}

// Cases: T-23
pub async fn an_engine_without_its_table_says_so<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().unmigrated().app().await;

    let missing = soon(app.idempotency.health()).await.expect_err("there is no table");
    app.idempotency.migrate().await.expect("the key table can be created");
    soon(app.idempotency.health()).await.expect("the table is there");
    bench.place.execute(&format!("DROP TABLE {}", bench.place.key_table())).await;
    let dropped = soon(app.idempotency.health()).await.expect_err("the table is gone");

    for error in [missing, dropped] {
        assert!(matches!(&error, Error::Misconfigured(_)), "{error:?}");
        assert!(error.to_string().contains("does not exist"), "{error}");
    }
}

// Cases: T-22
pub async fn an_engine_without_its_database_says_so<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().app().await;
    soon(app.idempotency.health()).await.expect("the database works");

    app.writer.close().await;
    app.reader.close().await;
    let gone = soon(app.idempotency.health()).await.expect_err("no connection can be had");

    assert!(matches!(&gone, Error::Store(sqlx::Error::PoolClosed)), "{gone:?}");
}

// Cases: T-20
pub async fn an_engine_that_drains_is_not_ready<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;
    let first = server.open_up_to_the_gate(&r1().path("/slow")).await;

    let mut drain = Box::pin(server.app.idempotency.drain(Duration::from_secs(20)));
    assert!(tokio::time::timeout(Duration::ZERO, &mut drain).await.is_err(), "it waits for the first run");
    let health = soon(server.app.idempotency.health()).await.expect("the database works");
    server.gate().open();

    assert!(health.is_draining && !health.is_ready(), "{health:?}");
    assert_eq!(health.keys_in_progress, 1);
    assert_eq!(soon(drain).await, 0);
    assert_ran(&first.answer().await, 201);
}

// Cases: T-21
pub async fn an_engine_without_a_free_connection_is_not_asked_for_long<DB: TestDatabase>(bench: &Bench<DB>) {
    let limit = Duration::from_millis(100);
    let server =
        bench.server().connections(1).engine(move |builder| builder.acquire_timeout(limit)).start().await;
    soon(server.app.idempotency.health()).await.expect("the database works");

    let first = server.open_up_to_the_gate(&r1().path("/slow")).await;
    let health = soon(server.app.idempotency.health()).await;
    server.gate().open();

    // On SQLite it is a reader that is asked, and the run has the writer.
    assert_eq!(health.is_err(), DB::WRITES_IN_PARALLEL, "{health:?}");
    assert_ran(&first.answer().await, 201);
    soon(server.app.idempotency.health()).await.expect("the connection is free again");
}

// Cases: T-23
pub async fn an_engine_that_is_off_says_so_and_needs_no_table<DB: TestDatabase>(bench: &Bench<DB>) {
    let app = bench.server().unmigrated().engine(|builder| builder.enabled(false)).app().await;

    let health = soon(app.idempotency.health()).await.expect("the database works");
    app.reader.close().await;
    let gone = soon(app.idempotency.health()).await;

    assert!(!health.is_enabled && health.is_ready(), "{health:?}");
    assert!(matches!(&gone, Err(Error::Store(_))), "{gone:?}");
}
