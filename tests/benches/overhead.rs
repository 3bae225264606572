//! What the attribute costs: an annotated handler against the same one without it, and a replay, per request.
//!
//! `scripts/with-postgres cargo bench -p idem-tests --bench overhead` runs it on SQLite and on PostgreSQL. The three kinds of request
//! take turns in one run and are compared with each other; a time by itself says more about the machine. Requests go
//! through the router without a socket, one after the other. A request's body has 22 bytes, its answer's 29 or more.

use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Request, StatusCode};
use axum::routing::{Router, post};
use idem_examples::reference::{App, AppError, NewOrder, Order, TenantId, insert_order};
use idem_runtime::idempotent;
use idem_tests::bench::{Bench, run};
use idem_tests::database::TestDatabase;
use sqlx::{Connection as _, Postgres, Sqlite, Transaction};
use tower_service::Service as _;

/// Rounds; the median of each kind counts.
const ROUNDS: usize = 15;
/// Requests of each kind in a round.
const REQUESTS: u32 = 200;

type Created = Result<(StatusCode, Json<Order>), AppError>;

#[idempotent(scope = "tenant,endpoint", ttl = "24h")]
async fn annotated<DB: TestDatabase>(
    tx: &mut Transaction<'_, DB>,
    tenant: TenantId,
    Json(order): Json<NewOrder>,
) -> Created {
    Ok((StatusCode::CREATED, Json(insert_order::<DB>(tx, &tenant, &order).await?)))
}

#[expect(
    clippy::disallowed_methods,
    reason = "every error of a statement has left the handler before COMMIT"
)]
async fn bare<DB: TestDatabase>(
    tenant: TenantId,
    State(app): State<App<DB>>,
    Json(order): Json<NewOrder>,
) -> Created {
    let mut connection = app.writer.acquire().await?;
    let begin = if DB::ERRORS_ABORT { "BEGIN" } else { "BEGIN IMMEDIATE" };
    let mut tx = connection.begin_with(begin).await?;
    let order = insert_order::<DB>(&mut tx, &tenant, &order).await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(order)))
}

/// The time of one request, in a row of [`REQUESTS`].
async fn per_request(router: &mut Router, path: &str, key: impl Fn(u32) -> String) -> Duration {
    let begun = Instant::now();
    for number in 0..REQUESTS {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header("x-tenant", "t1")
            .header("content-type", "application/json")
            .header("idempotency-key", key(number))
            .body(Body::from(r#"{"item":"tea","qty":1}"#))
            .expect("the request is well formed");
        let response = router.call(request).await.expect("a router never fails");
        assert_eq!(response.status(), StatusCode::CREATED);
    }
    begun.elapsed() / REQUESTS
}

async fn measure<DB: TestDatabase>(name: &str, bench: &Bench<DB>) {
    let app = bench.server().app().await;
    let mut router = Router::new()
        .route("/bare", post(bare::<DB>))
        .route("/annotated", post(annotated::<DB>))
        .with_state(app);
    let mut times: [Vec<Duration>; 3] = Default::default();
    // The first round prepares the statements and is not counted.
    for round in 0..=ROUNDS {
        let first = per_request(&mut router, "/annotated", |number| format!("{round}-{number}")).await;
        let replay = per_request(&mut router, "/annotated", |number| format!("{round}-{number}")).await;
        let without = per_request(&mut router, "/bare", |number| format!("{round}-{number}")).await;
        if round > 0 {
            for (times, time) in times.iter_mut().zip([without, first, replay]) {
                times.push(time);
            }
        }
    }

    let [without, first, replay] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    println!("{name}: without the attribute {without:?} per request");
    for (what, time) in [("first run", first), ("replay", replay)] {
        println!("{name}: {what} {time:?}, {:.2} of that", time.as_secs_f64() / without.as_secs_f64());
    }
}

#[tokio::main]
async fn main() {
    run(async |bench: &Bench<Sqlite>| measure("SQLite", bench).await).await;
    run(async |bench: &Bench<Postgres>| measure("PostgreSQL", bench).await).await;
}
