//! How long a run may take, and what begins once the engine has stopped.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use http_body::{Frame, SizeHint};
use idem_examples::reference::{App, AppError, NewOrder, Probe, TenantId, insert_order};
use idem_runtime::{IdempotencyKey, NoPolicy, idempotent};
use sqlx::Transaction;
use tokio::time::{Instant, sleep, timeout};

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::http::{Request, r1};
use crate::patience::soon;
use crate::problem::assert_problem;
use crate::same::{assert_ran, assert_replays};

/// A body that says it is two bytes long and never gives one.
struct NeverEnds;

impl http_body::Body for NeverEnds {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(2)
    }
}

/// The run limit of a test that meets it.
const RUN_LIMIT: Duration = Duration::from_secs(2);

/// Takes three quarters of its run limit, then answers with a body that never ends.
#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn takes_its_time<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Result<Response, AppError> {
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    sleep(RUN_LIMIT * 3 / 4).await;
    Ok(Response::new(Body::new(NeverEnds)))
}

// The body had a run limit of its own, so that a run was longer than what the server had been told.
pub async fn a_body_is_collected_within_the_run_limit_of_its_handler<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/orders", post(takes_its_time::<DB>));
    let server = bench.server().routes(routes).engine(|builder| builder.run_limit(RUN_LIMIT)).start().await;
    let begun = Instant::now();

    let answer = server.send(&r1()).await;

    assert_problem(&answer, "idempotency_transient");
    let taken = begun.elapsed();
    assert!((RUN_LIMIT..RUN_LIMIT * 3 / 2).contains(&taken), "{taken:?}");
    bench.assert_holds(0, 0).await;
}

#[idempotent(scope = "tenant,endpoint", ttl = "1s", allow(short_ttl))]
async fn blocks_at_first<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    if probe.runs() == 1 {
        // It never gives the runtime a chance to stop it.
        let until = Instant::now() + Duration::from_millis(1_100);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    }
    Ok(StatusCode::CREATED)
}

// Its row was committed after it had expired, so that the retry ran beside it.
pub async fn a_handler_that_blocks_beyond_its_limit_is_rolled_back<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/orders", post(blocks_at_first::<DB>));
    let server = bench.server().routes(routes).start().await;

    let answer = server.send(&r1()).await;

    assert_problem(&answer, "idempotency_transient");
    assert_ran(&server.send(&r1()).await, 201);
    bench.assert_holds(1, 1).await;
}

#[idempotent(scope = "tenant,endpoint", ttl = "1s", allow(short_ttl))]
async fn never_returns_at_first<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    if probe.runs() == 1 {
        pending::<()>().await;
    }
    Ok(StatusCode::CREATED)
}

// A run of a minute could commit a row of one second, which had expired by then: a retry at once ran again.
pub async fn a_run_ends_before_its_key_expires<DB: TestDatabase>(bench: &Bench<DB>) {
    let routes = Router::<App<DB>>::new().route("/orders", post(never_returns_at_first::<DB>));
    let server = bench.server().routes(routes).start().await;

    // Well before the run limit, which is a minute.
    let ended = server.send(&r1()).await;

    assert_problem(&ended, "idempotency_transient");
    bench.assert_holds(0, 0).await;
    assert_ran(&server.send(&r1()).await, 201);
    bench.assert_holds(1, 1).await;
}

// PostgreSQL refused time-outs above 24.8 days, and every request with a key was a 500.
pub async fn the_longest_times_that_may_be_set_work<DB: TestDatabase>(bench: &Bench<DB>) {
    let longest = Duration::from_hours(24);
    let server = bench
        .server()
        .engine(move |builder| builder.run_limit(longest).acquire_timeout(longest))
        .start()
        .await;

    let first = server.send(&r1()).await;

    assert_ran(&first, 201);
    assert_replays(&first, &server.send(&r1()).await);
    bench.assert_holds(1, 1).await;
}

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn counts_its_runs<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    State(probe): State<Probe>,
    Json(order): Json<NewOrder>,
) -> Result<StatusCode, AppError> {
    probe.ran();
    insert_order::<DB>(&mut *tx, &tenant, &order).await?;
    Ok(StatusCode::CREATED)
}

// It was told that nobody knew its outcome, although nothing of it had begun.
pub async fn a_request_that_still_waits_when_a_drain_is_over_has_not_begun<DB: TestDatabase>(
    bench: &Bench<DB>,
) {
    let server = bench.server().connections(1).start().await;
    let App { idempotency, writer, probe, .. } = server.app.clone();
    let the_only_one = soon(writer.acquire()).await.expect("the connection is free");
    let guard = idempotency.guard(IdempotencyKey::new("k-0001").expect("a key"), NoPolicy);
    let order = NewOrder { item: "tea".to_owned(), qty: 1, order_no: None };
    let tenant = TenantId("t1".to_owned());

    let mut request = pin!(counts_its_runs::<DB>(guard, tenant, State(probe), Json(order)));
    let waits = poll_fn(|context| Poll::Ready(request.as_mut().poll(context).is_pending())).await;
    assert!(waits, "there is no connection for it");
    let mut drain = pin!(idempotency.drain(Duration::ZERO));
    let is_over = timeout(Duration::from_millis(500), &mut drain).await;
    assert!(is_over.is_err(), "it waits for the request to leave");
    drop(the_only_one);
    let answer = soon(request).await;

    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    let body = axum::body::to_bytes(answer.into_body(), 1000).await.expect("a small body");
    let problem: serde_json::Value = serde_json::from_slice(&body).expect("a problem");
    assert_eq!(problem["code"], "idempotency_store_unavailable");
    assert_eq!(soon(drain).await, 1);
    // A safe request, which is not refused while a drain waits.
    let safe = server.send(&Request::new("GET", "/things").field("X-Tenant", "t1")).await;
    assert_problem(&safe, "idempotency_store_unavailable");
    assert_eq!(server.runs(), 0);
    bench.assert_holds(0, 0).await;
}
