//! An answer that was to be stored and is not does not leave, nor is anything promised of what nobody knows.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use idem_examples::reference::{App, Probe, TenantId};
use idem_runtime::idempotent;
use sqlx::{Acquire as _, Transaction};

use crate::bench::Bench;
use crate::database::{Place as _, TestDatabase};
use crate::http::r1;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};
use crate::scripted::Script;

/// Has the COMMIT fail that would make a failed answer last, though its statement succeeds.
async fn refuse_to_keep_failures<DB: TestDatabase>(bench: &Bench<DB>) {
    let table = bench.place.key_table();
    let mut statements = vec![
        "CREATE TABLE parents (id bigint PRIMARY KEY)".to_owned(),
        "CREATE TABLE children (parent bigint REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)"
            .to_owned(),
    ];
    if DB::WRITES_IN_PARALLEL {
        let schema = table.split('.').next().expect("the table is named with its schema").to_owned();
        statements.push(format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO {schema}.children VALUES (42); RETURN NULL; END $$"
        ));
        statements.push(format!(
            "CREATE TRIGGER refuse AFTER INSERT ON {table} FOR EACH ROW
             WHEN (NEW.response_status >= 400) EXECUTE FUNCTION refuse()"
        ));
    } else {
        statements.push(format!(
            "CREATE TRIGGER refuse AFTER INSERT ON {table} WHEN NEW.response_status >= 400
             BEGIN INSERT INTO children VALUES (42); END"
        ));
    }
    for statement in statements {
        bench.place.execute(&statement).await;
    }
}

// SQLite's driver stopped at the row that the statement returned and did not see its COMMIT fail: the answer
// left, and the retry came to another.
// Cases: T-24
pub async fn a_failed_answer_whose_commit_fails_does_not_leave<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| match run {
        1 => Err((StatusCode::UNPROCESSABLE_ENTITY, "declined").into_response()),
        _ => Ok((StatusCode::CREATED, "done").into_response()),
    });
    let server = bench.server().routes(script.routes()).start().await;
    refuse_to_keep_failures(bench).await;

    assert_problem(&server.send(&r1()).await, "idempotency_transient");
    bench.assert_holds(0, 0).await;
    let first = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}

/// Drops a nested `begin` while it waits, by which sqlx ends the whole transaction where the path says so, and
/// ends as the path says.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn loses_its_transaction<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Path(ending): Path<String>,
) -> Result<Response, StatusCode> {
    probe.ran();
    {
        let mut begin = pin!(tx.begin());
        poll_fn(|context| Poll::Ready(begin.as_mut().poll(context).is_pending())).await;
    }
    // Whether it stays is what nobody knows. If the `begin` was ready at once, it was a savepoint and does not.
    // One message, without values, which even a pooler sends to one server. SQLite refuses it outside a transaction.
    let sql = "INSERT INTO orders (tenant, item, qty) VALUES ('t1', 'tea', 1)";
    drop(DB::execute(&mut *tx, sql, &[]).await);
    match ending.as_str() {
        "refused" => Err(StatusCode::UNPROCESSABLE_ENTITY),
        "not-storable" => Ok(Response::new(Body::from(vec![b'x'; 100]))),
        _ => pending().await,
    }
}

// The client was told that the operation was rolled back.
pub async fn nothing_is_said_of_a_transaction_that_was_lost<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/{ending}", post(loses_its_transaction::<DB>));
    let server = bench
        .server()
        .routes(routes)
        .engine(|builder| builder.run_limit(Duration::from_secs(1)).max_response(99))
        .start()
        .await;

    for ending in ["/refused", "/not-storable", "/never"] {
        let mut is_unknown = false;
        for _ in 0..100 {
            let orders = bench.count("orders").await;
            let answer = server.send(&r1().path(ending).fresh_key()).await;
            answer.expected();

            is_unknown = answer.status == 503 && answer.json()["code"] == "idempotency_outcome_unknown";
            if is_unknown {
                break;
            }
            assert_eq!(bench.count("orders").await, orders, "said to have had no effect: {answer:?}");
        }
        assert!(is_unknown, "{ending}: the transaction was never lost");
    }
}
