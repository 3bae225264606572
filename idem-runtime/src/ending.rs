//! How a run ends: its failed answer stored, its connection given back or closed, then its answer sent.

use std::any::Any;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use axum::response::Response;
use sqlx::Connection as _;

use crate::answer::{Answer, Fate, answer_from};
use crate::engine::BoxFuture;
use crate::held::{END_LIMIT, Held};
use crate::idempotency::Inner;
use crate::in_process::Claim;
use crate::limits::{RETRIES, within};
use crate::observed::{Observed, Step, Timer};
use crate::problem::Problem;
use crate::replay::StoredResponse;
use crate::rollback::Condition;
use crate::store::{Cause, KeyRequest, Store, shown};

/// A run whose transaction is over.
pub(crate) struct Ended<DB: Store> {
    pub(crate) engine: Arc<Inner<DB>>,
    pub(crate) ending: Ending<DB>,
    pub(crate) condition: Condition,
    pub(crate) claim: Option<Claim>,
    /// Kept until a connection that is not known to have ended is closed: a COMMIT may still be under way on it.
    pub(crate) lock: Option<DB::Lock>,
    pub(crate) observed: Observed,
}

/// What is left to do when the transaction is over.
pub(crate) enum Ending<DB: Store> {
    /// Nothing: the answer can be sent.
    Answer(Answer),
    /// The answer of a rolled-back run must be stored before it may be sent.
    Failed(Box<Unstored<DB>>),
    /// The handler's panic goes on.
    Panic(Box<dyn Any + Send>),
}

impl<DB: Store> Ending<DB> {
    pub(crate) fn first(response: Response, fate: Fate) -> Self {
        Self::Answer(Answer::First(response, fate))
    }

    pub(crate) fn problem(problem: Problem) -> Self {
        Self::Answer(Answer::Problem(problem))
    }
}

/// A failed answer that is not stored yet.
pub(crate) struct Unstored<DB: Store> {
    pub(crate) request: KeyRequest,
    pub(crate) mark: DB::Mark,
    pub(crate) stored: StoredResponse,
    pub(crate) response: Response,
}

/// Waits until the database has done with a statement that failed outside any transaction.
///
/// A server sends the error before it releases the locks; its word on the next message comes after, so that a retry
/// does not meet what is left of this run.
async fn settle<DB: Store>(connection: &mut DB::Connection) {
    drop(tokio::time::timeout(END_LIMIT, connection.ping()).await);
}

impl<DB: Store> Ended<DB> {
    /// Stores a failed answer, ends the connection, lets duplicates go on, and gives the answer.
    ///
    /// # Panics
    /// With the handler's own panic, so that it reaches the request's task.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropped, a failed answer may be stored without being sent.
    pub(crate) fn answer(self, mut held: Held<DB>) -> BoxFuture<'static, Answer> {
        Box::pin(async move {
            let Self { engine, ending, mut condition, claim, mut lock, mut observed } = self;
            let answer = match ending {
                Ending::Answer(answer) => Ok(answer),
                Ending::Panic(panic) => Err(panic),
                Ending::Failed(unstored) => {
                    drop(lock.take());
                    let timer = Timer::start();
                    let (answer, after) = engine.store_failed(held.connection(), *unstored).await;
                    observed.took(Step::Finalize, timer);
                    condition = after;
                    Ok(answer)
                }
            };
            match condition {
                Condition::Clean => {
                    drop(lock);
                    held.release().await;
                }
                Condition::Suspect => {
                    held.close().await;
                    drop(lock);
                }
            }
            match &answer {
                Ok(answer) => observed.answered(answer),
                Err(_panic) => observed.panicked(),
            }
            // Last, so that of all who have the key here one at a time holds a connection.
            drop(claim);
            answer.unwrap_or_else(|panic| resume_unwind(panic))
        })
    }
}

impl<DB: Store> Inner<DB> {
    /// Stores the answer of a rolled-back run. It leaves only if its row is the key's row now.
    async fn store_failed(
        &self,
        connection: &mut DB::Connection,
        unstored: Unstored<DB>,
    ) -> (Answer, Condition) {
        let Unstored { request, mark, stored, response } = unstored;
        for _ in 0..=RETRIES {
            match within(DB::store_failed(connection, &self.statements, &request, &mark, &stored)).await {
                Ok(true) => return (Answer::First(response, Fate::Recorded), Condition::Clean),
                Ok(false) => return self.yield_to_winner(connection, &request).await,
                Err(error) if Cause::of(&error) == Cause::Conflict => {}
                Err(error) => {
                    tracing::error!(error = %shown(&error), "the answer of a rolled-back run cannot be stored");
                    let problem =
                        if Cause::is_silent(&error) { Problem::OutcomeUnknown } else { Problem::Transient };
                    if matches!(error, sqlx::Error::Database(_)) {
                        settle::<DB>(connection).await;
                    }
                    return (Answer::Problem(problem), Condition::Suspect);
                }
            }
        }
        settle::<DB>(connection).await;
        (Answer::Problem(Problem::Transient), Condition::Clean)
    }

    /// Another request took the key after the rollback, so its run counts.
    async fn yield_to_winner(
        &self,
        connection: &mut DB::Connection,
        request: &KeyRequest,
    ) -> (Answer, Condition) {
        match within(DB::find(connection, &self.statements, &request.address)).await {
            Ok(Some(found)) => (answer_from(&found, &request.fingerprint), Condition::Clean),
            Ok(None) => (Answer::Problem(Problem::InProgress), Condition::Clean),
            Err(error) => {
                tracing::error!(error = %shown(&error), "the winner of a key cannot be looked up");
                (Answer::Problem(Problem::OutcomeUnknown), Condition::Suspect)
            }
        }
    }
}

impl<DB: Store> fmt::Debug for Ended<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ended").field("condition", &self.condition).finish_non_exhaustive()
    }
}
