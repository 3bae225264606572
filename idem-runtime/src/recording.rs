//! RECORD, way by way: what becomes of a run's transaction and of its answer.

use axum::body::Body;
use axum::response::Response;
use http::response::Parts;
use sqlx_core::transaction::TransactionManager;

use crate::answer::Fate;
use crate::ending::{Ended, Ending, Unstored};
use crate::engine::{Attempt, Commit, Keyed, Recorded, Run};
use crate::limits::within;
use crate::problem::Problem;
use crate::rollback::{Condition, RolledBack, roll_back};
use crate::store::{Cause, Complete, Probe, Store, shown};

impl<'h, DB: Store> Attempt<'h, DB> {
    /// A lasting success: the answer goes into the key row, in the transaction that reserved it.
    pub(crate) async fn complete(mut self, parts: Parts, body: Body) -> Recorded<'h, DB> {
        let kept = self.run.engine.keep(&self.run.rules, &parts, body, self.run_limit()).await;
        let (stored, body) = match kept {
            Ok(kept) => kept,
            Err(problem) => return self.reject(problem).await,
        };
        match DB::TransactionManager::get_transaction_depth(&self.tx) {
            1 => {}
            0 => return self.lose().await,
            // A nested transaction that the handler never ended: COMMIT would only release its savepoint.
            _ => return self.reject(Problem::CommitRejected).await,
        }
        let (Some(keyed), Some(mark)) = (&self.run.keyed, &self.mark) else {
            unreachable!("only a run with a key has an answer to record")
        };
        let statements = &self.run.engine.statements;
        match within(DB::complete(&mut self.tx, statements, &keyed.request, mark, &stored)).await {
            Ok(Complete::Recorded) => {
                let response = Response::from_parts(parts, Body::from(body));
                Recorded::Commit(Commit { run: self.run, tx: self.tx, lock: self.lock, response })
            }
            Ok(Complete::RowLost) => {
                tracing::error!(
                    "a handler deleted its own key row, or rolled back the transaction that holds it"
                );
                self.reject(Problem::CommitRejected).await
            }
            Ok(Complete::TransactionLost) => self.lose().await,
            Err(error) => {
                tracing::error!(error = %shown(&error), "an answer cannot be recorded");
                let problem = match Cause::of(&error) {
                    Cause::Conflict | Cause::ConnectionLost => Problem::Transient,
                    _ => Problem::CommitRejected,
                };
                self.reject(problem).await
            }
        }
    }

    /// A lasting failure: the writes go, and the answer is stored once they are gone.
    pub(crate) async fn roll_back_and_record(mut self, parts: Parts, body: Body) -> Recorded<'h, DB> {
        let kept = self.run.engine.keep(&self.run.rules, &parts, body, self.run_limit()).await;
        let (stored, body) = match kept {
            Ok(kept) => kept,
            Err(problem) => return self.reject(problem).await,
        };
        match roll_back::<DB>(&mut self.tx).await {
            RolledBack::Acknowledged => {}
            RolledBack::Lost => return self.lose().await,
            RolledBack::Failed => {
                // An answer that was to be stored and is not must not leave: the retry may come to another.
                return self.ended(Ending::problem(Problem::Transient), Condition::Suspect);
            }
        }
        let Self { run: Run { engine, keyed, observed, .. }, lock, mark, .. } = self;
        let (Some(Keyed { request, claim }), Some(mark)) = (keyed, mark) else {
            unreachable!("only a run with a key has an answer to record")
        };
        let response = Response::from_parts(parts, Body::from(body));
        Recorded::Ended(Ended {
            engine,
            ending: Ending::Failed(Box::new(Unstored { request, mark, stored, response })),
            condition: Condition::Clean,
            claim: Some(claim),
            lock: Some(lock),
            observed,
        })
    }

    /// A run without a key: commit or roll back, and store nothing.
    pub(crate) async fn record_nothing(
        mut self,
        commits: bool,
        parts: Parts,
        body: Body,
    ) -> Recorded<'h, DB> {
        let response = Response::from_parts(parts, body);
        if !commits {
            return self.abandon(Ending::first(response, Fate::Forgotten)).await;
        }
        match DB::TransactionManager::get_transaction_depth(&self.tx) {
            1 => {}
            0 => return self.lose().await,
            _ => return self.reject(Problem::CommitRejected).await,
        }
        // With a key the completing statement tells; here sqlx would take the server's ROLLBACK for a COMMIT.
        match self.probe().await {
            Ok(Probe::Own) => {
                Recorded::Commit(Commit { run: self.run, tx: self.tx, lock: self.lock, response })
            }
            Ok(Probe::Aborted) => self.reject(Problem::CommitRejected).await,
            Ok(Probe::Lost) => self.lose().await,
            Err(error) => {
                tracing::error!(error = %shown(&error), "the connection of a run was lost");
                self.reject(Problem::Transient).await
            }
        }
    }

    /// What became of the transaction while the handler had it.
    pub(crate) async fn probe(&mut self) -> Result<Probe, sqlx::Error> {
        within(DB::probe(&mut self.tx, &self.run.engine.statements, self.mark.as_ref())).await
    }

    /// Rolls back and answers a problem.
    pub(crate) async fn reject(mut self, problem: Problem) -> Recorded<'h, DB> {
        let rolled_back = roll_back::<DB>(&mut self.tx).await;
        if rolled_back == RolledBack::Lost {
            return self.lose().await;
        }
        self.ended(Ending::problem(problem), rolled_back.condition())
    }

    /// Rolls back and leaves nothing behind.
    pub(crate) async fn abandon(mut self, ending: Ending<DB>) -> Recorded<'h, DB> {
        let condition = roll_back::<DB>(&mut self.tx).await.condition();
        self.ended(ending, condition)
    }

    fn ended(self, ending: Ending<DB>, condition: Condition) -> Recorded<'h, DB> {
        Recorded::Ended(self.run.ended(ending, condition, Some(self.lock)))
    }

    /// The handler ended the transaction itself: what it wrote may stay, and nobody can tell. No other request may run
    /// with the key then.
    pub(crate) async fn lose(mut self) -> Recorded<'h, DB> {
        tracing::error!("a handler ended the transaction that was lent to it");
        if let (Some(keyed), Some(mark)) = (&self.run.keyed, &self.mark) {
            let statements = &self.run.engine.statements;
            let marked = within(DB::mark_broken(&mut self.tx, statements, &keyed.request, mark)).await;
            if let Err(error) = marked {
                tracing::error!(error = %shown(&error), "its key cannot be marked, so a retry runs");
            }
        }
        self.ended(Ending::problem(Problem::OutcomeUnknown), Condition::Suspect)
    }
}
