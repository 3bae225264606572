//! A duplicate of a request that this process is working on: it waits for what the other finds out, or is told so.
//!
//! It waits in its request's own future, which ends when the client leaves, and holds neither connection nor lock.

use tokio::time::{Instant, timeout_at};

use crate::answer::{Answer, answer_from};
use crate::idempotency::Inner;
use crate::in_process::{Attempt, Claim, Entered, Phase};
use crate::observed::{Observed, Step, Timer};
use crate::options::Rules;
use crate::problem::Problem;
use crate::store::{KeyRequest, Store};

/// How long a request waits for others with its key, counted from its arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For one that is on its way to the database and may be the wrong one: as long as that may take.
    attempt: Instant,
    /// For one that runs; `None` for a request that does not wait.
    run: Option<Instant>,
}

impl Patience {
    pub(crate) fn begin<DB: Store>(engine: &Inner<DB>, rules: &Rules) -> Self {
        let arrived = Instant::now();
        Self {
            attempt: arrived + engine.http.acquire_timeout,
            run: rules.in_progress.limit().map(|limit| arrived + limit),
        }
    }

    /// Until when it waits for a run; `None` if it does not.
    pub(crate) fn for_run(self) -> Option<Instant> {
        self.run
    }

    /// As [`for_run`](Self::for_run), unless that is over.
    fn left_for_run(self) -> Option<Instant> {
        self.run.filter(|until| *until > Instant::now())
    }
}

impl<DB: Store> Inner<DB> {
    /// Takes the entry of a key, or the answer that the request before it left.
    ///
    /// Waits for an attempt that is on its way, and, where the handler says so, for a run. Each time one leaves nothing
    /// behind, those who wait try to enter: one does, and the others wait on it.
    ///
    /// # Cancel safety
    /// Cancel safe: nobody knows of those who wait.
    pub(crate) async fn enter(
        &self,
        request: &KeyRequest,
        patience: Patience,
        observed: &Observed,
    ) -> Result<Claim, Answer> {
        let mut waited = None;
        let entered = self.enter_or_wait(request, patience, &mut waited).await;
        if let Some(timer) = waited {
            observed.took(Step::Wait, timer);
        }
        entered
    }

    /// `waited` is set when it begins to wait.
    async fn enter_or_wait(
        &self,
        request: &KeyRequest,
        patience: Patience,
        waited: &mut Option<Timer>,
    ) -> Result<Claim, Answer> {
        let address = &request.address;
        // Whether a run was seen: from then on only its own limit counts.
        let mut has_run = false;
        loop {
            let mut watching = match self.in_process.enter(&address.scope, &address.key) {
                Entered::Alone(claim) => return Ok(claim),
                Entered::Behind(watching) => watching,
            };
            loop {
                let phase = watching.borrow_and_update().clone();
                let until = match phase {
                    Phase::Over(Attempt::Nothing) => break,
                    Phase::Over(Attempt::Found(found)) => {
                        return Err(answer_from(&found, &request.fingerprint));
                    }
                    // One attempt that failed says nothing of the run that is waited for.
                    Phase::Over(Attempt::Failed(Problem::StoreUnavailable)) if has_run => {
                        patience.left_for_run().ok_or(Problem::InProgress)?;
                        break;
                    }
                    Phase::Over(Attempt::Failed(problem)) => return Err(problem.into()),
                    Phase::Over(Attempt::InProgress) => {
                        if patience.left_for_run().is_none() || self.tasks.are_draining() {
                            return Err(Problem::InProgress.into());
                        }
                        has_run = true;
                        break;
                    }
                    Phase::Running(first) if !first.agrees_with(&request.fingerprint) => {
                        return Err(Problem::KeyReused.into());
                    }
                    Phase::Running(_) | Phase::Elsewhere => {
                        has_run = true;
                        patience.left_for_run().ok_or(Problem::InProgress)?
                    }
                    Phase::Attempting if has_run => patience.left_for_run().ok_or(Problem::InProgress)?,
                    Phase::Attempting => patience.attempt,
                };
                waited.get_or_insert_with(Timer::start);
                match timeout_at(until, watching.changed()).await {
                    Ok(Ok(())) => {}
                    // The claim ends its entry whenever it is dropped, so this is the same as nothing.
                    Ok(Err(_closed)) => break,
                    Err(_elapsed) if has_run => return Err(Problem::InProgress.into()),
                    Err(_elapsed) => return Err(Problem::StoreUnavailable.into()),
                }
            }
        }
    }
}
