//! A handler that describes its operation by hand, as the test says, and answers what the test tells it to.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use idem_examples::reference::{App, Gate, NewOrder, TenantId, insert_order};
use idem_runtime::{Execution, Guard, Operation};
use tokio::sync::watch;

use crate::database::TestDatabase;
use crate::patience::soon;
use crate::scripted::Outcome;

/// Makes an operation out of one that has tenant, endpoint and body already.
type Describe<DB> = Arc<dyn Fn(Operation<DB>, &NewOrder) -> Operation<DB> + Send + Sync>;

/// What a run answers.
type Answers = Arc<dyn Fn(usize, &Execution) -> Outcome + Send + Sync>;

/// The handler at `POST /orders`: it inserts the order, passes the gate if there is one, and answers.
pub struct Hand<DB: TestDatabase> {
    describe: Describe<DB>,
    answers: Answers,
    gate: Option<Gate>,
    endpoint: Option<&'static str>,
    runs: Arc<AtomicUsize>,
    arrivals: Arc<watch::Sender<usize>>,
}

impl<DB: TestDatabase> Hand<DB> {
    /// `answers` is asked once a run, with the number of the run, the first being 1.
    pub fn new(answers: impl Fn(usize, &Execution) -> Outcome + Send + Sync + 'static) -> Self {
        Self {
            describe: Arc::new(|operation, _| operation),
            answers: Arc::new(answers),
            gate: None,
            endpoint: None,
            runs: Arc::default(),
            arrivals: Arc::default(),
        }
    }

    /// The same with more said of the operation.
    #[must_use]
    pub fn described(
        mut self,
        describe: impl Fn(Operation<DB>, &NewOrder) -> Operation<DB> + Send + Sync + 'static,
    ) -> Self {
        self.describe = Arc::new(describe);
        self
    }

    /// The same, after every run has passed `gate`.
    #[must_use]
    pub fn at_gate(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// How often the work has run.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// Waits until so many requests are known to the engine. From then on each of them waits, runs or is answered.
    ///
    /// # Panics
    /// The future panics if they do not come.
    pub async fn arrivals(&self, count: usize) {
        let mut arrivals = self.arrivals.subscribe();
        soon(arrivals.wait_for(|arrived| *arrived >= count)).await.expect("the sender is here");
    }

    /// The handler at `POST /orders`.
    pub fn routes(&self) -> Router<App<DB>> {
        Router::new().route("/orders", post(handler::<DB>)).layer(Extension(self.clone()))
    }

    /// The same under a name of its own.
    pub fn routes_as(mut self, endpoint: &'static str) -> Router<App<DB>> {
        self.endpoint = Some(endpoint);
        self.routes()
    }

    async fn answer(&self, execution: &Execution) -> Outcome {
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(gate) = &self.gate {
            gate.pass().await;
        }
        (self.answers)(run, execution)
    }
}

async fn handler<DB: TestDatabase>(
    guard: Guard<DB>,
    tenant: TenantId,
    Extension(hand): Extension<Hand<DB>>,
    Json(order): Json<NewOrder>,
) -> Response {
    let operation = match hand.endpoint {
        Some(name) => guard.by_hand_as(name),
        None => guard.by_hand(),
    };
    let operation = operation.scope("tenant", &tenant).endpoint().fingerprint(&Json(&order));
    let operation = (hand.describe)(operation, &order);
    let arrivals = Arc::clone(&hand.arrivals);
    let mut work = Box::pin(operation.run(move |tx, execution| {
        Box::pin(async move {
            insert_order::<DB>(&mut *tx, &tenant, &order).await.map_err(IntoResponse::into_response)?;
            hand.answer(execution).await
        })
    }));
    // Once polled, the engine knows of it.
    let polled = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    arrivals.send_modify(|count| *count += 1);
    match polled {
        Poll::Ready(answer) => answer,
        Poll::Pending => work.await,
    }
}

// By hand: a derive would ask `DB: Clone`.
impl<DB: TestDatabase> Clone for Hand<DB> {
    fn clone(&self) -> Self {
        Self {
            describe: Arc::clone(&self.describe),
            answers: Arc::clone(&self.answers),
            gate: self.gate.clone(),
            endpoint: self.endpoint,
            runs: Arc::clone(&self.runs),
            arrivals: Arc::clone(&self.arrivals),
        }
    }
}

impl<DB: TestDatabase> fmt::Debug for Hand<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hand").field("runs", &self.runs).finish_non_exhaustive()
    }
}
