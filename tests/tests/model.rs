//! Random histories against a model that fits on one screen.
//!
//! A history is a sequence of requests on a few keys, mixed with what clients, time, operators and restarts
//! do. After each step the answer and the tables must be what the model says. A history that fails names its
//! seed; the fault it showed is kept as a plain test of its own.

use std::collections::{BTreeMap, BTreeSet};

use idem_runtime::{IdempotencyKey, Scope};
use idem_tests::bench::{Bench, run};
use idem_tests::database::TestDatabase;
use idem_tests::http::{Answer, Request, r1};
use idem_tests::problem::assert_problem;
use idem_tests::random::Random;
use idem_tests::same::assert_replays;
use idem_tests::server::Server;

/// The histories of each database.
const HISTORIES: u64 = 20;

/// The steps of a history.
const STEPS: usize = 50;

/// What can happen.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A request comes, with one of two bodies.
    Send { row: Row, body: usize },
    /// A request comes whose client hangs up while the handler runs, and sends it again later.
    HangUp { key: usize, body: usize },
    /// Every key expires.
    Expire,
    /// An operator forgets a key.
    Forget { row: Row },
    /// Another process takes over.
    Restart,
}

/// A key row: an endpoint and a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    route: Route,
    key: usize,
}

/// The endpoints, by how their handlers end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Route {
    /// 201, an order.
    Orders,
    /// 201, an order, after the gate.
    Slow,
    /// 402, an audit row that is kept.
    Declined,
    /// 422 as an `Err`.
    Err,
    /// 500 as an answer.
    Boom,
    /// A panic.
    Panic,
}

const ROUTES: [Route; 6] =
    [Route::Orders, Route::Slow, Route::Declined, Route::Err, Route::Boom, Route::Panic];

impl Route {
    fn path(self) -> &'static str {
        match self {
            Self::Orders => "/orders",
            Self::Slow => "/slow",
            Self::Declined => "/declined",
            Self::Err => "/err",
            Self::Boom => "/boom",
            Self::Panic => "/panic",
        }
    }

    /// The status of a run; none for a panic.
    fn status(self) -> Option<u16> {
        match self {
            Self::Orders | Self::Slow => Some(201),
            Self::Declined => Some(402),
            Self::Err => Some(422),
            Self::Boom => Some(500),
            Self::Panic => None,
        }
    }
}

/// What the database must hold.
#[derive(Debug, Default)]
struct Model {
    /// The body and the answer of each live row.
    live: BTreeMap<Row, (usize, Answer)>,
    /// The rows that count as absent and are still there.
    expired: BTreeSet<Row>,
    orders: i64,
    audit: i64,
}

impl Model {
    /// A request came and was answered, or its connection ended.
    fn sent(&mut self, row: Row, body: usize, answer: Option<Answer>) {
        match self.live.get(&row) {
            Some((first_body, first)) if *first_body == body => {
                assert_replays(first, &answer.expect("a replay"));
            }
            Some(_) => assert_problem(&answer.expect("a refusal"), "idempotency_key_reused"),
            None => self.ran(row, body, answer),
        }
    }

    /// A handler ran, and this is its answer.
    fn ran(&mut self, row: Row, body: usize, answer: Option<Answer>) {
        assert_eq!(answer.as_ref().map(|answer| answer.status), row.route.status());
        if let Some(answer) = answer {
            self.live.insert(row, (body, answer));
            self.expired.remove(&row);
        }
        self.orders += i64::from(matches!(row.route, Route::Orders | Route::Slow));
        self.audit += i64::from(row.route == Route::Declined);
    }

    fn expire(&mut self) {
        self.expired.extend(std::mem::take(&mut self.live).into_keys());
    }

    /// Whether there was a row to forget.
    fn forget(&mut self, row: Row) -> bool {
        self.live.remove(&row).is_some() || self.expired.remove(&row)
    }
}

fn request(row: Row, body: usize) -> Request {
    r1().path(row.route.path())
        .key(format!("k-{}", row.key))
        .body(format!(r#"{{"item":"tea","qty":{body}}}"#))
}

/// Takes a step on the server, and the same in the model.
async fn take<DB: TestDatabase>(bench: &Bench<DB>, server: &mut Server<DB>, model: &mut Model, step: Step) {
    match step {
        Step::Send { row, body } => {
            server.gate().open();
            let answer = server.open(&request(row, body)).await.outcome().await;
            if !model.live.contains_key(&row) {
                assert!(answer.as_ref().is_none_or(|answer| !answer.is_replay()), "{answer:?}");
            }
            model.sent(row, body, answer);
        }
        Step::HangUp { key, body } => {
            let row = Row { route: Route::Slow, key };
            if model.live.contains_key(&row) {
                return;
            }
            // The gate of a new process is closed.
            *server = bench.start().await;
            drop(server.open_up_to_the_gate(&request(row, body)).await);
            server.gate().open();
            let answer = server.retry(&request(row, body)).await;
            assert!(answer.is_replay(), "{answer:?}");
            assert_eq!(server.runs(), 1);
            model.ran(row, body, Some(answer));
        }
        Step::Expire => {
            bench.expire_in(-1).await;
            model.expire();
        }
        Step::Forget { row } => {
            let scope =
                Scope::new().with("tenant", "t1").and_then(|scope| scope.endpoint("POST", row.route.path()));
            let key = IdempotencyKey::new(format!("k-{}", row.key)).expect("a valid key");
            let forgotten = server.app.idempotency.forget(&scope.expect("a valid scope"), &key).await;
            assert_eq!(forgotten.expect("the database works"), model.forget(row));
        }
        Step::Restart => *server = bench.start().await,
    }
}

/// Takes the steps of one history on an empty database.
async fn play<DB: TestDatabase>(seed: u64) {
    run(async |bench: &Bench<DB>| {
        let mut random = Random::new(seed);
        let mut model = Model::default();
        let mut server = bench.start().await;
        for number in 0..STEPS {
            let step = next_step(&mut random);
            // Shown when the history fails.
            println!("history {seed}, step {number}: {step:?}");
            take(bench, &mut server, &mut model, step).await;

            assert_eq!(bench.key_rows().await.len(), model.live.len() + model.expired.len());
            assert_eq!(bench.count("orders").await, model.orders);
            assert_eq!(bench.count("audit").await, model.audit);
        }
    })
    .await;
}

/// The next step.
fn next_step(random: &mut Random) -> Step {
    let (key, body) = (random.below(2), random.below(2));
    let row = Row { route: random.one_of(&ROUTES), key };
    match random.below(20) {
        0 => Step::Expire,
        1 | 2 => Step::Forget { row },
        3 => Step::Restart,
        4 | 5 => Step::HangUp { key, body },
        _ => Step::Send { row, body },
    }
}

// Cases: R-01, F-01, X-03, T-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_end_as_the_model_says_on_postgres() {
    for seed in 0..HISTORIES {
        play::<sqlx::Postgres>(seed).await;
    }
}

// Cases: R-01, F-01, X-03, T-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_end_as_the_model_says_on_sqlite() {
    for seed in 0..HISTORIES {
        play::<sqlx::Sqlite>(seed).await;
    }
}
