//! One run of a handler: reserve, execute, record, finalize.
//!
//! ```text
//! Run ── reserve ──> Attempt ── execute, record ──> Commit ── finalize ──> Ended ── answer ──> the response
//!           └───────────────────────└──────────────────────────────────────^
//! ```
//!
//! A run that waits for one of another process comes out of `reserve` as it went in, and is reserved again.
//!
//! Each step consumes the one before, so a row that was not reserved cannot be completed, and one that was not
//! completed cannot be committed. Everything from BEGIN on runs in a task of its own, with the connection in hand;
//! every way out goes through [`Ended`], which ends the connection before the answer leaves.

use std::fmt;
use std::future::Future;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::{IntoResponse, Response};
use sqlx::Transaction;
use sqlx_core::transaction::TransactionManager;
use tokio_util::sync::DropGuard;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::answer::{Answer, Fate};
use crate::ending::{Ended, Ending};
use crate::execute::Stop;
use crate::execution::Execution;
use crate::held::Held;
use crate::idempotency::Inner;
use crate::in_process::Claim;
use crate::limits::within;
use crate::observed::{Observed, Step, Timer};
use crate::options::Rules;
use crate::outcome::{self, Plan, Verdict};
use crate::problem::Problem;
use crate::reserving::{Begun, Refused};
use crate::rollback::{Condition, roll_back};
use crate::store::{Cause, KeyRequest, Probe, Store, shown};
use crate::turn::Turn;

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

// ------------------------------------------------------------------------------------------------------- reserve

/// An admitted request: nothing has begun.
pub(crate) struct Run<DB: Store> {
    pub(crate) engine: Arc<Inner<DB>>,
    pub(crate) rules: Arc<Rules>,
    /// `None` for a request without a key: it runs in a plain transaction and nothing is stored.
    pub(crate) keyed: Option<Keyed>,
    pub(crate) execution: Box<Execution>,
    /// `None` for a run that does not wait for one of another process.
    pub(crate) turn: Option<Box<Turn>>,
    pub(crate) token: Option<TaskTrackerToken>,
    pub(crate) observed: Observed,
}

pub(crate) struct Keyed {
    pub(crate) request: KeyRequest,
    pub(crate) claim: Claim,
}

/// What became of a reservation.
#[derive(Debug)]
pub(crate) enum Reserved<'h, DB: Store> {
    /// The handler may run.
    Run(Attempt<'h, DB>),
    /// It may not: the key has an answer, or cannot be reserved.
    Ended(Ended<DB>),
}

impl<DB: Store> Run<DB> {
    /// Where the run's task is spawned.
    pub(crate) fn tasks(&mut self) -> Detach<DB> {
        self.observed.detached();
        Detach { engine: Arc::clone(&self.engine), waiting: self.turn.as_ref().map(|turn| turn.guard()) }
    }

    /// RESERVE: opens the transaction and makes the key row its first write, or learns who did.
    ///
    /// A run that waits for one of another process is given back, and waits when it is called again. It is the caller
    /// that loops, because what is reserved borrows the connection that a run must give back while it waits.
    ///
    /// # Cancel safety
    /// Not cancel safe: a dropped BEGIN may leave a transaction open. The task that calls it runs to its end.
    pub(crate) fn reserve(
        mut self,
        held: &mut Held<DB>,
    ) -> BoxFuture<'_, ControlFlow<Reserved<'_, DB>, Self>> {
        Box::pin(async move {
            // From here on the task counts as running.
            self.token = None;
            if let Err(refused) = self.await_turn(held).await {
                self.waited();
                return ControlFlow::Break(Reserved::Ended(self.refused(refused)));
            }
            let limit = self.attempt_limit();
            let timer = Timer::start();
            let begun = tokio::time::timeout(limit, self.begin(held)).await;
            self.observed.took(Step::Reserve, timer);
            let begun = match begun {
                Ok(Ok(begun)) => begun,
                Ok(Err(refused)) => return self.missed(refused),
                Err(_elapsed) => return self.missed(Refused::out_of_time()),
            };
            if let Some(keyed) = &self.keyed {
                keyed.claim.running(keyed.request.fingerprint);
            }
            self.waited();
            let Begun { tx, lock, mark } = begun;
            let deadline = Instant::now() + self.rules.run_limit();
            ControlFlow::Break(Reserved::Run(Attempt { run: self, tx, lock, mark, deadline }))
        })
    }

    pub(crate) fn ended(self, ending: Ending<DB>, condition: Condition, lock: Option<DB::Lock>) -> Ended<DB> {
        // What was queued for after COMMIT is dropped with the run, unless it has begun.
        let Self { engine, keyed, observed, .. } = self;
        Ended { engine, ending, condition, claim: keyed.map(|keyed| keyed.claim), lock, observed }
    }
}

/// The task of a run, before it is spawned.
pub(crate) struct Detach<DB: Store> {
    engine: Arc<Inner<DB>>,
    /// Dropped with the request's future, it ends the waiting of a run that has not begun.
    waiting: Option<DropGuard>,
}

impl<DB: Store> Detach<DB> {
    /// Runs `work` to its end, whatever becomes of the client.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, `work` goes on and its answer is found by the retry; work that only waits ends.
    pub(crate) async fn detach<F>(self, work: F) -> Answer
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let Self { engine, waiting } = self;
        let answer = engine.tasks.run(work).await;
        drop(waiting);
        answer.unwrap_or(Answer::Problem(Problem::OutcomeUnknown))
    }
}

// ------------------------------------------------------------------------------------------------------- execute

/// A run whose transaction is open and whose key is reserved.
pub(crate) struct Attempt<'h, DB: Store> {
    pub(crate) run: Run<DB>,
    pub(crate) tx: Transaction<'h, DB>,
    pub(crate) lock: DB::Lock,
    /// `None` for a run without a key.
    pub(crate) mark: Option<DB::Mark>,
    /// When the handler, and its answer's body, must have ended.
    pub(crate) deadline: Instant,
}

/// A database whose transactions lend the handler an `A`.
///
/// The database's trait, and not the transaction's: where the handler's type is no transaction there is no database
/// either, and rustc has nothing to add to what [`Tx`](crate::tx::Tx) says.
#[doc(hidden)]
pub trait Lends<'h, A>: Store {
    /// The transaction, or the connection inside it.
    fn lend<'a>(tx: &'a mut Transaction<'h, Self>) -> &'a mut A;
}

impl<'h, DB: Store> Lends<'h, Transaction<'h, DB>> for DB {
    fn lend<'a>(tx: &'a mut Transaction<'h, DB>) -> &'a mut Transaction<'h, DB> {
        tx
    }
}

#[cfg(feature = "postgres")]
impl<'h> Lends<'h, sqlx::PgConnection> for sqlx::Postgres {
    fn lend<'a>(tx: &'a mut Transaction<'h, Self>) -> &'a mut sqlx::PgConnection {
        tx
    }
}

#[cfg(feature = "sqlite")]
impl<'h> Lends<'h, sqlx::SqliteConnection> for sqlx::Sqlite {
    fn lend<'a>(tx: &'a mut Transaction<'h, Self>) -> &'a mut sqlx::SqliteConnection {
        tx
    }
}

/// What the handler's future came to.
#[doc(hidden)]
#[derive(Debug)]
pub struct Outcome(Result<(Verdict, Response), Stop>);

impl Outcome {
    /// It has no value.
    pub(crate) fn stopped(stop: Stop) -> Self {
        Self(Err(stop))
    }
}

/// Makes the answer of the handler's value, in the statement in which it was had: the value may borrow from the
/// transaction, the answer must not.
#[doc(hidden)]
pub fn outcome<R: IntoResponse>(verdict: Verdict, value: R) -> Outcome {
    // The user's code, like the handler, so its panic is caught likewise.
    match catch_unwind(AssertUnwindSafe(|| value.into_response())) {
        Ok(response) => Outcome(Ok((verdict, response))),
        Err(panic) => Outcome(Err(Stop::Panicked(panic))),
    }
}

// -------------------------------------------------------------------------------------------------------- record

/// What became of recording.
#[derive(Debug)]
pub(crate) enum Recorded<'h, DB: Store> {
    /// The transaction is ready to commit.
    Commit(Commit<'h, DB>),
    /// It is over.
    Ended(Ended<DB>),
}

impl<DB: Store> Recorded<'_, DB> {
    fn observed(&self) -> &Observed {
        match self {
            Self::Commit(commit) => &commit.run.observed,
            Self::Ended(ended) => &ended.observed,
        }
    }
}

impl<'h, DB: Store> Attempt<'h, DB> {
    /// How long the run may still take.
    pub(crate) fn run_limit(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// A step is over that began when `timer` did.
    pub(crate) fn took(&self, step: Step, timer: Timer) {
        self.run.observed.took(step, timer);
    }

    /// What the handler is lent: the transaction, and what it may know of the run.
    pub(crate) fn parts(&mut self) -> (&mut Transaction<'h, DB>, &Execution) {
        (&mut self.tx, &self.run.execution)
    }

    /// RECORD: decides what becomes of the writes and of the answer, and writes a lasting answer into the key row.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropped, the connection is closed and the transaction rolled back by the database.
    pub(crate) fn record(self, outcome: Outcome) -> BoxFuture<'h, Recorded<'h, DB>> {
        Box::pin(async move {
            let timer = Timer::start();
            let recorded = self.decide(outcome).await;
            recorded.observed().took(Step::Record, timer);
            recorded
        })
    }

    fn decide(mut self, outcome: Outcome) -> BoxFuture<'h, Recorded<'h, DB>> {
        Box::pin(async move {
            let (verdict, response) = match outcome.0 {
                Ok(answered) => answered,
                Err(Stop::Panicked(panic)) => return self.abandon(Ending::Panic(panic)).await,
                Err(Stop::OverLimit) => {
                    tracing::error!("a handler ran longer than its run limit and was stopped");
                    return self.reject(Problem::Transient).await;
                }
            };
            let (mut parts, body) = response.into_parts();
            let plan = self.mark.as_ref().map(|_| outcome::plan(verdict, &parts, self.run.rules.record));
            let commits = outcome::commits_without_key(verdict, &parts);
            outcome::strip(&mut parts);
            self.run.engine.http.strip(&mut parts.headers, &self.run.rules.terms);
            let Some(plan) = plan else {
                return self.record_nothing(commits, parts, body).await;
            };
            // A failure is where a handler's own COMMIT or ROLLBACK would go unnoticed; a success is told by recording it.
            let probe = match plan {
                Plan::RollBackAndRecord | Plan::ProbeThenRecord | Plan::RollBackAndSend => self.probe().await,
                Plan::CommitAndRecord | Plan::Refuse => Ok(Probe::Own),
            };
            match plan {
                _ if matches!(probe, Ok(Probe::Lost)) => self.lose().await,
                Plan::CommitAndRecord => self.complete(parts, body).await,
                // A failed statement, or no reply at all: the answer speaks of the database, not of the operation.
                Plan::ProbeThenRecord if !matches!(probe, Ok(Probe::Own)) => {
                    self.abandon(Ending::first(Response::from_parts(parts, body), Fate::Forgotten)).await
                }
                Plan::RollBackAndRecord | Plan::ProbeThenRecord => {
                    self.roll_back_and_record(parts, body).await
                }
                Plan::RollBackAndSend => {
                    self.abandon(Ending::first(Response::from_parts(parts, body), Fate::Forgotten)).await
                }
                Plan::Refuse => self.reject(Problem::ResponseNotStorable).await,
            }
        })
    }
}

// ------------------------------------------------------------------------------------------------------ finalize

/// A run whose answer is in its key row, or that has none.
pub(crate) struct Commit<'h, DB: Store> {
    pub(crate) run: Run<DB>,
    pub(crate) tx: Transaction<'h, DB>,
    pub(crate) lock: DB::Lock,
    pub(crate) response: Response,
}

impl<'h, DB: Store> Commit<'h, DB> {
    /// FINALIZE: commits. The answer leaves only once the database has acknowledged it, and only then does what the
    /// handler queued begin.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropped, the COMMIT may have been sent.
    pub(crate) fn finalize(self) -> BoxFuture<'h, Ended<DB>> {
        Box::pin(async move {
            let Self { run, mut tx, lock, response } = self;
            drop(lock);
            // Not `tx.commit()`, which would drop the transaction with the error.
            let timer = Timer::start();
            let committed = within(DB::TransactionManager::commit(&mut tx)).await;
            run.observed.took(Step::Finalize, timer);
            match committed {
                Ok(()) => {
                    run.execution.committed(&run.engine.tasks);
                    run.ended(Ending::first(response, Fate::Committed), Condition::Clean, None)
                }
                Err(error) => {
                    tracing::error!(error = %shown(&error), "a run cannot be committed");
                    // A server sends the error before it releases the locks; its word on the ROLLBACK comes after, so
                    // that a retry does not meet what is left of this run.
                    roll_back::<DB>(&mut tx).await;
                    let problem = if Cause::of(&error) == Cause::Conflict {
                        Problem::Transient
                    } else if Cause::is_silent(&error) {
                        Problem::OutcomeUnknown
                    } else {
                        Problem::CommitRejected
                    };
                    run.ended(Ending::problem(problem), Condition::Suspect, None)
                }
            }
        })
    }
}

impl<DB: Store> fmt::Debug for Detach<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detach").finish_non_exhaustive()
    }
}

impl<DB: Store> fmt::Debug for Run<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("is_keyed", &self.keyed.is_some()).finish_non_exhaustive()
    }
}

impl<DB: Store> fmt::Debug for Attempt<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt").field("run", &self.run).field("mark", &self.mark).finish_non_exhaustive()
    }
}

impl<DB: Store> fmt::Debug for Commit<'_, DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit").field("run", &self.run).finish_non_exhaustive()
    }
}
