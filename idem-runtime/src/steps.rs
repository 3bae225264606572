//! The steps of a run in their order, for a handler under `#[idempotent]` and for an operation by hand alike.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;

use axum::response::Response;
use sqlx::Transaction;
use tracing::Instrument as _;

use crate::admission::{Admitted, Call};
use crate::engine::{Outcome, Recorded, Reserved};
use crate::execute::execute;
use crate::execution::Execution;
use crate::observed::{Observed, Step, Timer};
use crate::store::Store;

/// Judges the request, reserves its key, executes `work`, records its answer and finalizes the transaction; or gives
/// the answer of the request that had the key before.
///
/// `work` is called at most once, and its future ends in an owned answer: what the handler returned may borrow from the
/// transaction. All of it is boxed here, once for all handlers, or else the compiler
/// would prove `Send` through the engine anew for each.
///
/// # Cancel safety
/// Cancel safe: dropped before anything has begun, nothing does; later, the work goes on in a task of its own to its
/// end, and its answer is found by the retry.
#[doc(hidden)]
#[must_use]
pub fn run<DB, W>(call: Call<DB>, work: W) -> Pin<Box<dyn Future<Output = Response> + Send>>
where
    DB: Store,
    W: for<'a> FnOnce(
            &'a mut Transaction<'_, DB>,
            &'a Execution,
        ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>
        + Send
        + 'static,
{
    // Called in the request's future, so this is a child of the request's span; the run's task follows it.
    let observed = call.observe();
    let span = observed.span();
    Box::pin(answer(call, observed, work).instrument(span))
}

async fn answer<DB, W>(call: Call<DB>, observed: Observed, work: W) -> Response
where
    DB: Store,
    W: for<'a> FnOnce(
            &'a mut Transaction<'_, DB>,
            &'a Execution,
        ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>
        + Send
        + 'static,
{
    let reply = call.reply();
    let (mut run, mut held) = match call.admit(observed).await {
        Admitted::Run(run, held) => (run, held),
        Admitted::Done(answer) => return reply.give(answer),
    };
    let tasks = run.tasks();
    let steps = async move {
        let ended = {
            let reserved = loop {
                match run.reserve(&mut held).await {
                    ControlFlow::Break(reserved) => break reserved,
                    ControlFlow::Continue(again) => run = again,
                }
            };
            match reserved {
                Reserved::Run(mut attempt) => {
                    let limit = attempt.run_limit();
                    let timer = Timer::start();
                    let (tx, execution) = attempt.parts();
                    // The call is within, because what comes before the first await may panic as well.
                    let executed = execute(limit, async { work(tx, execution).await }).await;
                    attempt.took(Step::Execute, timer);
                    let outcome = executed.unwrap_or_else(Outcome::stopped);
                    match attempt.record(outcome).await {
                        Recorded::Commit(commit) => commit.finalize().await,
                        Recorded::Ended(ended) => ended,
                    }
                }
                Reserved::Ended(ended) => ended,
            }
        };
        ended.answer(held).await
    };
    reply.give(tasks.detach(steps).await)
}
