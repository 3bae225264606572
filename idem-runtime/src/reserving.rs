//! RESERVE, way by way: the transaction begun and the key reserved in it, or why not.

use std::sync::Arc;
use std::time::Instant;

use sqlx::{Connection, Transaction};
use sqlx_core::transaction::TransactionManager;

use crate::answer::{Answer, answer_from};
use crate::ending::{Ended, Ending};
use crate::engine::Run;
use crate::held::Held;
use crate::in_process::Attempt as Attempted;
use crate::limits::RETRIES;
use crate::problem::Problem;
use crate::rollback::{Condition, RolledBack, roll_back};
use crate::store::{Cause, Found, Reserve, Store, shown};

/// A transaction in which the key is reserved.
pub(crate) struct Begun<'h, DB: Store> {
    pub(crate) tx: Transaction<'h, DB>,
    pub(crate) lock: DB::Lock,
    /// `None` for a run without a key.
    pub(crate) mark: Option<DB::Mark>,
}

/// Why a run does not begin, and what that leaves of its connection.
pub(crate) struct Refused {
    why: Why,
    condition: Condition,
}

enum Why {
    /// The key has a live row.
    Found(Found),
    /// Another process runs the key.
    InProgress,
    /// The key could not be reserved.
    Failed(Problem),
}

impl Refused {
    fn found(found: Found, condition: Condition) -> Self {
        Self { why: Why::Found(found), condition }
    }

    pub(crate) fn in_progress(condition: Condition) -> Self {
        Self { why: Why::InProgress, condition }
    }

    pub(crate) fn failed(problem: Problem, condition: Condition) -> Self {
        Self { why: Why::Failed(problem), condition }
    }

    pub(crate) fn is_in_progress(&self) -> bool {
        matches!(self.why, Why::InProgress)
    }

    /// Whether the store could not be asked, which it may be the next time.
    pub(crate) fn is_unavailable(&self) -> bool {
        matches!(self.why, Why::Failed(Problem::StoreUnavailable))
    }

    /// What it is to a request that knows of a run in another process: that it has waited in vain.
    pub(crate) fn while_waiting(self) -> Self {
        if self.is_unavailable() { Self::in_progress(self.condition) } else { self }
    }

    pub(crate) fn condition(&self) -> Condition {
        self.condition
    }

    /// The database did not reply in time.
    pub(crate) fn out_of_time() -> Self {
        tracing::error!("no idempotency key was reserved within the acquire time-out");
        Self::failed(Problem::StoreUnavailable, Condition::Suspect)
    }
}

impl<DB: Store> Run<DB> {
    /// Begins, and begins again after a lost race: the handler has not run, so the transaction holds nothing yet.
    pub(crate) async fn begin<'h>(&self, held: &'h mut Held<DB>) -> Result<Begun<'h, DB>, Refused> {
        let engine = &self.engine;
        if self.keyed.is_some() {
            engine.check_once(held.connection()).await.map_err(|problem| {
                let has_replied = problem == Problem::StoreMisconfigured;
                Refused::failed(problem, if has_replied { Condition::Clean } else { Condition::Suspect })
            })?;
        }
        let mut begun = Instant::now();
        let isolation = self.rules.isolation;
        let statement = match &self.keyed {
            Some(_) => DB::begin(isolation),
            None => DB::begin_without_key(isolation, self.rules.run_limit()),
        };
        let mut tx = held.connection().begin_with(statement).await.map_err(not_begun)?;
        let lock = DB::lock(&engine.pools);
        let Some(keyed) = &self.keyed else { return Ok(Begun { tx, lock, mark: None }) };

        for _ in 0..=RETRIES {
            let reserved = DB::reserve(&mut tx, &engine.statements, &keyed.request, begun).await;
            if let Ok(Reserve::Fresh(mark)) = reserved {
                return Ok(Begun { tx, lock, mark: Some(mark) });
            }
            // Awaited before anything is answered, so that a retry at once does not meet what is left of this one.
            let rolled_back = roll_back::<DB>(&mut tx).await;
            let condition = rolled_back.condition();
            match reserved {
                Ok(Reserve::Found(found)) => return Err(Refused::found(found, condition)),
                Ok(Reserve::InProgress) => return Err(Refused::in_progress(condition)),
                Ok(Reserve::Foreign) => {
                    tracing::error!(
                        "a pooled connection was inside a transaction that somebody left open; it is closed"
                    );
                    return Err(Refused::failed(Problem::StoreUnavailable, Condition::Suspect));
                }
                Ok(Reserve::Fresh(_) | Reserve::Vanished) => {}
                Err(error) if Cause::of(&error) == Cause::Conflict => {}
                Err(error) => return Err(not_reserved(&error, condition)),
            }
            if rolled_back != RolledBack::Acknowledged {
                break;
            }
            begun = Instant::now();
            let statement = DB::begin(isolation);
            DB::TransactionManager::begin(&mut tx, Some(statement)).await.map_err(not_begun)?;
        }
        let condition = roll_back::<DB>(&mut tx).await.condition();
        Err(Refused::failed(Problem::StoreUnavailable, condition))
    }

    /// The answer of a run that does not begin, for this request and for those that wait behind it.
    pub(crate) fn refused(mut self, Refused { why, condition }: Refused) -> Ended<DB> {
        let (answer, attempted) = match why {
            Why::Found(found) => {
                let found = Arc::new(found);
                let answer = match &self.keyed {
                    Some(keyed) => answer_from(&found, &keyed.request.fingerprint),
                    None => Answer::Problem(Problem::StoreUnavailable),
                };
                (answer, Attempted::Found(found))
            }
            Why::InProgress => (Problem::InProgress.into(), Attempted::InProgress),
            Why::Failed(problem) => (problem.into(), Attempted::Failed(problem)),
        };
        if let Some(keyed) = &mut self.keyed {
            keyed.claim.leave(attempted);
        }
        self.ended(Ending::Answer(answer), condition, None)
    }
}

/// BEGIN says nothing of the key: at most of the connection, which may have come with a transaction of another's.
#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn not_begun(error: sqlx::Error) -> Refused {
    tracing::error!(error = %shown(&error), "a transaction cannot be begun");
    Refused::failed(Problem::StoreUnavailable, Condition::Suspect)
}

fn not_reserved(error: &sqlx::Error, condition: Condition) -> Refused {
    tracing::error!(error = %shown(error), "an idempotency key cannot be reserved");
    match Cause::of(error) {
        Cause::Misconfigured => Refused::failed(Problem::StoreMisconfigured, condition),
        // After a failover the server stays read-only; another connection finds the new one.
        Cause::ReadOnly => Refused::failed(Problem::StoreUnavailable, Condition::Suspect),
        _ => Refused::failed(Problem::StoreUnavailable, condition),
    }
}
