//! What sweeping costs the requests that come meanwhile: 1 000 000 key rows, 200 000 of them expired, and 50 requests a
//! second.
//!
//! `scripts/with-postgres cargo bench -p idem-tests --bench sweep` runs it on SQLite and on PostgreSQL. Requests are sent
//! at fixed times, whatever became of those before, and their latency is counted from these times. Windows of two seconds
//! with a sweeper and without one take turns until the rows are swept, and the two kinds are compared with each other,
//! since a time by itself says more about the machine, and about what else it does. Requests go through the router
//! without a socket. A request's body has 22 bytes, its answer's 33 or more, and a row about 250.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use idem_examples::reference::{App, routes};
use idem_tests::bench::{Bench, run_at_most};
use idem_tests::database::{Place as _, TestDatabase};
use idem_tests::patience::within;
use sqlx::{AssertSqlSafe, Executor, Postgres, Sqlite};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};
use tower_service::Service as _;

/// Rows that are live throughout.
const LIVE: u32 = 800_000;
/// Rows that are to be swept.
const EXPIRED: u32 = 200_000;
/// From one request to the next.
const EVERY: Duration = Duration::from_millis(20);
/// Requests of a window.
const WINDOW: usize = 100;
/// So many requests of each kind are compared; where sweeping is done before, there are as many rows again.
const ENOUGH: usize = 3000;
/// The longest that all of it may take on one database.
const LIMIT: Duration = Duration::from_mins(20);

/// The latencies of requests of one kind.
#[derive(Default)]
struct Latencies(Vec<Duration>);

impl Latencies {
    /// Sends the requests of one window, at fixed times, and waits for their answers.
    async fn add_window(&mut self, router: &Router) {
        let mut clock = interval(EVERY);
        let mut requests = JoinSet::new();
        while requests.len() < WINDOW {
            let due = clock.tick().await;
            requests.spawn(latency(router.clone(), due));
        }
        self.0.extend(requests.join_all().await);
    }

    /// The mean, the median, and what 95 and 99 of 100 requests are within, in milliseconds.
    fn figures(&mut self) -> [f64; 4] {
        self.0.sort_unstable();
        let within = |percent: usize| self.0[(self.0.len() - 1) * percent / 100].as_secs_f64() * 1e3;
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        let mean = self.0.iter().sum::<Duration>().as_secs_f64() * 1e3 / self.0.len() as f64;
        [mean, within(50), within(95), within(99)]
    }
}

/// How long after `due` a request has its answer.
async fn latency(mut router: Router, due: Instant) -> Duration {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let request = Request::builder()
        .method(Method::POST)
        .uri("/orders")
        .header("x-tenant", "t1")
        .header("content-type", "application/json")
        .header("idempotency-key", format!("request-{}", COUNT.fetch_add(1, Ordering::Relaxed)))
        .body(Body::from(r#"{"item":"tea","qty":1}"#))
        .expect("the request is well formed");
    let response = router.call(request).await.expect("a router never fails");
    assert_eq!(response.status(), StatusCode::CREATED, "no request fails");
    due.elapsed()
}

async fn measure<DB: TestDatabase>(name: &str, bench: &Bench<DB>)
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    let app = bench.server().app().await;
    let router = routes::<DB, App<DB>>().with_state(app.clone());
    let table = bench.place.key_table();
    let fill = async |prefix: String, count, seconds| {
        let mut connection = app.writer.acquire().await.expect("a connection");
        let sql = DB::Place::filling(&table, &prefix, count, seconds);
        within(LIMIT, connection.execute(AssertSqlSafe(sql))).await.expect("the table can be filled");
    };

    let expired = format!("SELECT count(*) FROM {} WHERE expires_at <= {}", table, DB::Place::time(0));

    fill("live".to_owned(), LIVE, 86_400).await;
    let [mut without, mut with] = [Latencies::default(), Latencies::default()];
    let (mut swept, mut sweeping) = (0, Duration::ZERO);
    for round in 0.. {
        if with.0.len() >= ENOUGH {
            break;
        }
        fill(format!("expired-{round}"), EXPIRED, 0).await;
        // What filling has left to do, such as a checkpoint, is not to be measured; statements are prepared.
        for _ in 0..5 {
            Latencies::default().add_window(&router).await;
        }
        let mut left = i64::from(EXPIRED);
        while left > 0 {
            without.add_window(&router).await;
            let begun = Instant::now();
            let sweeper = app.idempotency.sweeper().every(Duration::from_millis(10)).start();
            with.add_window(&router).await;
            sweeper.stop().await;
            sweeping += begun.elapsed();
            let still = bench.place.integer(&expired).await;
            assert!(still < left, "it sweeps");
            swept += left - still;
            left = still;
        }
        assert_eq!(
            bench.place.integer(&format!("SELECT count(*) FROM {table} WHERE key LIKE 'live%'")).await,
            i64::from(LIVE)
        );
    }

    #[expect(clippy::cast_precision_loss, reason = "some hundred thousands")]
    let rate = swept as f64 / sweeping.as_secs_f64();
    println!("{name}: {swept} rows swept, {rate:.0} rows/s");
    println!(
        "{name}: {} requests without a sweeper, {} with one, none failed",
        without.0.len(),
        with.0.len()
    );
    let (without, with) = (without.figures(), with.figures());
    for (index, what) in ["mean", "p50", "p95", "p99"].into_iter().enumerate() {
        let (without, with) = (without[index], with[index]);
        println!("{name}: {what} {without:.2} ms without, {with:.2} ms with: {:.2}", with / without);
    }
}

#[tokio::main]
async fn main() {
    run_at_most(LIMIT, async |bench: &Bench<Sqlite>| measure("SQLite", bench).await).await;
    run_at_most(LIMIT, async |bench: &Bench<Postgres>| measure("PostgreSQL", bench).await).await;
}
