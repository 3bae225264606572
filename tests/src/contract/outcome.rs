//! What becomes of the writes and the answer, by how the handler ends.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use http_body::Frame;
use idem_examples::reference::{NewOrder, TenantId, insert_order};
use idem_runtime::{DoNotRecord, KeepWrites, Record, idempotent};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::{Answer, r1};
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};
use crate::scripted::{Outcome, Script};

/// Sends R1 twice to a handler that ends as the script says, at the path that stands for a value of
/// `record`, and returns both answers with the number of runs.
async fn twice<DB: TestDatabase>(
    bench: &Bench<DB>,
    path: &str,
    outcome: impl Fn() -> Outcome + Send + Sync + 'static,
) -> (Answer, Answer, usize) {
    let script = Script::new(move |_| outcome());
    let server = bench.server().routes(script.routes()).start().await;
    let request = r1().path(path).fresh_key();
    let (first, again) = (server.send(&request).await, server.send(&request).await);
    (first, again, script.runs())
}

// Cases: T-01
pub async fn an_err_rolls_the_writes_back_and_is_stored<DB: TestDatabase>(bench: &Bench<DB>) {
    let server = bench.start().await;

    let answer = server.send(&r1().path("/err")).await;

    assert_ran(&answer, 422);
    bench.assert_holds(1, 0).await;
    assert_eq!(bench.key_row().await.status, Some(422));
}

// Cases: T-02
pub async fn record_success_runs_again_after_a_failure<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| match run {
        1 => Err((StatusCode::UNPROCESSABLE_ENTITY, "not yet").into_response()),
        _ => Ok((StatusCode::CREATED, "done").into_response()),
    });
    let server = bench.server().routes(script.routes()).start().await;
    let request = r1().path("/success");

    let failed = server.send(&request).await;
    let first = server.send(&request).await;
    let again = server.send(&request).await;

    assert_ran(&failed, 422);
    assert_ran(&first, 201);
    assert_replays(&first, &again);
    bench.assert_holds(1, 1).await;
}

// Cases: T-03
// Reports: B20
pub async fn a_panic_leaves_nothing_behind<DB: TestDatabase>(bench: &Bench<DB>) {
    let script = Script::new(|run| match run {
        1 => panic!("the handler was told to"),
        _ => Ok(StatusCode::CREATED.into_response()),
    });
    let server = bench.server().routes(script.routes()).start().await;

    let panicked = server.open(&r1()).await.outcome().await;
    bench.assert_holds(0, 0).await;
    let first = server.send(&r1()).await;

    assert_eq!(panicked, None, "without a layer that catches it, a panic ends the connection");
    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}

// Cases: T-03
pub async fn a_panic_goes_on_in_the_layers_around_the_handler<DB: TestDatabase>(bench: &Bench<DB>) {
    // What `CatchPanicLayer` does.
    let catch = async |request: Request, next: Next| match tokio::spawn(next.run(request)).await {
        Ok(response) => response,
        Err(error) if error.is_panic() => (StatusCode::INTERNAL_SERVER_ERROR, "caught").into_response(),
        Err(_) => StatusCode::IM_A_TEAPOT.into_response(),
    };
    let server = bench.server().wrap(move |router| router.layer(from_fn(catch))).start().await;

    for _ in 0..2 {
        let caught = server.send(&r1().path("/panic")).await;

        assert_ran(&caught, 500);
        assert_eq!(caught.text(), "caught");
    }
    assert_eq!(server.runs(), 2);
    bench.assert_holds(0, 0).await;
}

// Cases: R-23
pub async fn keep_writes_commits_them_with_an_err<DB: TestDatabase>(bench: &Bench<DB>) {
    for status in [StatusCode::UNPROCESSABLE_ENTITY, StatusCode::INTERNAL_SERVER_ERROR] {
        let (first, again, runs) =
            twice(bench, "/orders", move || Err((status, KeepWrites, "kept").into_response())).await;

        assert_ran(&first, status.as_u16());
        assert_replays(&first, &again);
        assert_eq!(runs, 1);
    }
    bench.assert_holds(2, 2).await;
}

// Cases: R-23
pub async fn keep_writes_commits_them_whatever_record_says<DB: TestDatabase>(bench: &Bench<DB>) {
    for path in ["/orders", "/all", "/success"] {
        let (first, again, runs) =
            twice(bench, path, || Ok((StatusCode::PAYMENT_REQUIRED, KeepWrites, "declined").into_response()))
                .await;

        assert_ran(&first, 402);
        assert_replays(&first, &again);
        assert_eq!(runs, 1);
    }
    bench.assert_holds(3, 3).await;
}

// Cases: R-23
pub async fn keep_writes_and_record_are_refused_on_not_now<DB: TestDatabase>(bench: &Bench<DB>) {
    for code in [408, 425, 429, 502, 503, 504] {
        let status = StatusCode::from_u16(code).expect("a status");
        let kept = twice(bench, "/orders", move || Ok((status, KeepWrites).into_response())).await;
        let recorded = twice(bench, "/orders", move || Err((status, Record).into_response())).await;

        for (first, again, runs) in [kept, recorded] {
            assert_problem(&first, "idempotency_response_not_storable");
            assert_problem(&again, "idempotency_response_not_storable");
            assert_eq!(runs, 2);
        }
    }
    bench.assert_holds(0, 0).await;
}

// Cases: R-23
pub async fn keep_writes_is_refused_with_retry_after_and_do_not_record<DB: TestDatabase>(bench: &Bench<DB>) {
    let with_retry_after = twice(bench, "/orders", || {
        Ok((StatusCode::CONFLICT, KeepWrites, [(header::RETRY_AFTER, "1")]).into_response())
    });
    let with_do_not_record = twice(bench, "/orders", || {
        Ok((StatusCode::PAYMENT_REQUIRED, KeepWrites, DoNotRecord).into_response())
    });

    for (first, again, runs) in [with_retry_after.await, with_do_not_record.await] {
        assert_problem(&first, "idempotency_response_not_storable");
        assert_problem(&again, "idempotency_response_not_storable");
        assert_eq!(runs, 2);
    }
    bench.assert_holds(0, 0).await;
}

// Cases: R-23
pub async fn keep_writes_and_record_lift_401_and_403<DB: TestDatabase>(bench: &Bench<DB>) {
    for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
        let (first, again, _) = twice(bench, "/orders", move || Ok((status, Record).into_response())).await;
        assert_ran(&first, status.as_u16());
        assert_replays(&first, &again);

        let (first, again, _) =
            twice(bench, "/orders", move || Err((status, KeepWrites).into_response())).await;
        assert_ran(&first, status.as_u16());
        assert_replays(&first, &again);
    }
    bench.assert_holds(4, 2).await;
}

// Cases: R-08
pub async fn record_stores_an_err_that_answers_500<DB: TestDatabase>(bench: &Bench<DB>) {
    let (first, again, runs) =
        twice(bench, "/orders", || Err((StatusCode::INTERNAL_SERVER_ERROR, Record, "no").into_response()))
            .await;

    assert_ran(&first, 500);
    assert_replays(&first, &again);
    assert_eq!(runs, 1);
    bench.assert_holds(1, 0).await;
}

// Cases: R-11
pub async fn record_all_stores_401_and_403_and_no_not_now<DB: TestDatabase>(bench: &Bench<DB>) {
    for (code, is_stored) in [(401, true), (403, true), (408, false), (429, false), (503, false)] {
        let status = StatusCode::from_u16(code).expect("a status");
        let (first, again, runs) = twice(bench, "/all", move || Ok(status.into_response())).await;

        assert_ran(&first, code);
        if is_stored {
            assert_replays(&first, &again);
        } else {
            assert_ran(&again, code);
        }
        assert_eq!(runs, if is_stored { 1 } else { 2 }, "{code}");
    }
    bench.assert_holds(2, 0).await;
}

// Cases: R-11
// Reports: B31
pub async fn do_not_record_leaves_a_failure_unstored<DB: TestDatabase>(bench: &Bench<DB>) {
    let (first, again, runs) =
        twice(bench, "/orders", || Ok((StatusCode::CONFLICT, DoNotRecord, "later").into_response())).await;

    assert_ran(&first, 409);
    assert_ran(&again, 409);
    assert_eq!(runs, 2);
    bench.assert_holds(0, 0).await;
}

// Cases: R-16
pub async fn a_success_that_must_not_be_recorded_is_rolled_back<DB: TestDatabase>(bench: &Bench<DB>) {
    let (first, again, runs) =
        twice(bench, "/orders", || Ok((StatusCode::CREATED, DoNotRecord).into_response())).await;

    assert_problem(&first, "idempotency_response_not_storable");
    assert_problem(&again, "idempotency_response_not_storable");
    assert_eq!(runs, 2);
    bench.assert_holds(0, 0).await;
}

/// A body that does not say how long it will be, and never ends.
struct Endless;

impl HttpBody for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

// Cases: R-16
// Reports: B53
pub async fn a_body_of_unknown_length_is_rolled_back<DB: TestDatabase>(bench: &Bench<DB>) {
    let (first, again, runs) = twice(bench, "/orders", || Ok(Body::new(Endless).into_response())).await;

    assert_problem(&first, "idempotency_response_not_storable");
    assert_problem(&again, "idempotency_response_not_storable");
    assert_eq!(runs, 2);
    bench.assert_holds(0, 0).await;
}

// Cases: R-23
pub async fn keep_writes_cannot_save_a_transaction_whose_statement_failed<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let routes = Router::new().route("/orders", post(swallows_an_error_and_keeps::<DB>));
    let server = bench.server().routes(routes).start().await;

    let first = server.send(&r1()).await;

    if DB::ERRORS_ABORT {
        assert_problem(&first, "idempotency_commit_rejected");
        bench.assert_holds(0, 0).await;
    } else {
        // On SQLite the failed statement is the only one that is undone.
        assert_ran(&first, 402);
        bench.assert_holds(1, 1).await;
    }
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn swallows_an_error_and_keeps<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Outcome {
    insert_order::<DB>(&mut *tx, &tenant, &order).await.map_err(IntoResponse::into_response)?;
    let failed = DB::execute(&mut *tx, "INSERT INTO orders (id) VALUES (NULL)", &[]).await;
    assert!(failed.is_err(), "the statement was made to fail");
    Ok((StatusCode::PAYMENT_REQUIRED, KeepWrites).into_response())
}
