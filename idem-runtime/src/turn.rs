//! A duplicate of a request that another process is working on: it asks the database again, now and then.
//!
//! Nobody tells this process when the other has done, and a connection that listened for it would be one held per
//! waiting request. So it holds none, and takes one each time for as long as an attempt to reserve the key takes.
//! Whoever has the same key in this process waits behind it.

use std::ops::ControlFlow;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::engine::{Reserved, Run};
use crate::held::Held;
use crate::jitter::Jitter;
use crate::observed::{Step, Timer};
use crate::reserving::Refused;
use crate::rollback::Condition;
use crate::store::Store;

/// The shortest time between two attempts.
const SHORTEST: Duration = Duration::from_millis(10);

/// The longest.
const LONGEST: Duration = Duration::from_millis(250);

/// The turn of a run that may wait for one of another process.
#[derive(Debug)]
pub(crate) struct Turn {
    until: Instant,
    pauses: Pauses,
    /// Cancelled once the request's own future is gone, and with it whoever would read the answer.
    gone: CancellationToken,
    /// What the last attempt left of its connection, if there was one and the key was another's.
    missed: Option<Condition>,
    /// Since when the key is known to be another's: from then on only the time ends the wait.
    has_missed: Option<Timer>,
}

impl Turn {
    pub(crate) fn new(until: Instant) -> Self {
        Self {
            until,
            pauses: Pauses::default(),
            gone: CancellationToken::new(),
            missed: None,
            has_missed: None,
        }
    }

    /// When the next attempt is to be made; `None` if none is, because its time is as good as over.
    ///
    /// The last one is made shortly before, however long the pause would have been.
    fn resume(&mut self, now: Instant) -> Option<Instant> {
        let last = self.until.checked_sub(SHORTEST).filter(|last| *last > now)?;
        Some(last.min(now + self.pauses.next()))
    }

    /// Whether another attempt is to follow one that was refused. An attempt that failed says nothing of the run that is
    /// waited for.
    fn goes_on(&self, refused: &Refused) -> bool {
        let is_worth_it = refused.is_in_progress() || (self.has_missed.is_some() && refused.is_unavailable());
        is_worth_it && self.until > Instant::now()
    }

    /// What the request's future holds for as long as somebody waits for its answer.
    pub(crate) fn guard(&self) -> DropGuard {
        self.gone.clone().drop_guard()
    }
}

impl<DB: Store> Run<DB> {
    /// Whether the run has found its key in another process.
    fn waits(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.has_missed.is_some())
    }

    /// How long an attempt to reserve the key may take: one that waits has less time, the longer it waits.
    pub(crate) fn attempt_limit(&self) -> Duration {
        let limit = self.engine.http.acquire_timeout;
        match &self.turn {
            Some(turn) if turn.has_missed.is_some() => {
                limit.min(turn.until.saturating_duration_since(Instant::now()).max(LONGEST))
            }
            _ => limit,
        }
    }

    /// It waits no longer for the run of another process, if it did.
    pub(crate) fn waited(&self) {
        if let Some(timer) = self.turn.as_ref().and_then(|turn| turn.has_missed) {
            self.observed.took(Step::Wait, timer);
        }
    }

    /// Another attempt for a run whose key another process holds, or its end.
    pub(crate) fn missed<'h>(mut self, refused: Refused) -> ControlFlow<Reserved<'h, DB>, Self> {
        let goes_on = self.turn.as_ref().is_some_and(|turn| turn.goes_on(&refused));
        let Some(turn) = self.turn.as_mut().filter(|_| goes_on) else {
            let refused = if self.waits() { refused.while_waiting() } else { refused };
            self.waited();
            return ControlFlow::Break(Reserved::Ended(self.refused(refused)));
        };
        turn.missed = Some(refused.condition());
        turn.has_missed.get_or_insert_with(Timer::start);
        if let Some(keyed) = &self.keyed {
            keyed.claim.elsewhere();
        }
        ControlFlow::Continue(self)
    }

    /// Waits until the key is worth another attempt, and takes a connection for it.
    ///
    /// At once for the first attempt. Ends early when the client has left or the engine drains.
    pub(crate) async fn await_turn(&mut self, held: &mut Held<DB>) -> Result<(), Refused> {
        let Some(turn) = &mut self.turn else { return Ok(()) };
        let Some(condition) = turn.missed.take() else { return Ok(()) };
        held.end(condition).await;

        let engine = &self.engine;
        loop {
            let until = turn.until;
            let resume = turn.resume(Instant::now());
            let attempt = async {
                sleep_until(resume.unwrap_or(until)).await;
                if resume.is_none() {
                    None
                } else {
                    timeout_at(until, engine.connection(&self.observed)).await.ok()
                }
            };
            let attempt = turn.gone.run_until_cancelled(engine.tasks.until_draining(attempt)).await;
            match attempt.flatten().flatten() {
                Some(Ok(connection)) => {
                    *held = connection;
                    return Ok(());
                }
                // None is to be had for now, which says nothing of the run that is waited for.
                Some(Err(_unavailable)) => {}
                None => {
                    if turn.gone.is_cancelled() {
                        self.observed.abandoned();
                    }
                    return Err(Refused::in_progress(Condition::Clean));
                }
            }
        }
    }
}

/// The times between attempts: each about twice as long as the one before, none like another's, so that processes
/// which began to wait together do not ask together.
#[derive(Debug, Default)]
struct Pauses {
    jitter: Jitter,
    count: u32,
}

impl Pauses {
    /// Somewhere between half the step and the step.
    fn next(&mut self) -> Duration {
        let step = LONGEST.min(SHORTEST * 2_u32.saturating_pow(self.count));
        self.count = self.count.saturating_add(1);
        SHORTEST.max(self.jitter.between(step / 2, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_grow_and_stay_in_their_bounds() {
        let mut pauses = Pauses::default();

        let times: Vec<_> = (0..40).map(|_| pauses.next()).collect();

        assert_eq!(times[0], SHORTEST);
        assert!(times.iter().all(|time| (SHORTEST..=LONGEST).contains(time)), "{times:?}");
        assert!(times[5..].iter().all(|time| *time >= LONGEST / 2), "{times:?}");
        // All of them take a request of ten seconds to about sixty attempts.
        assert!(times.iter().sum::<Duration>() > Duration::from_secs(4), "{times:?}");
    }

    #[test]
    fn the_last_attempt_is_made_shortly_before_the_time_is_over() {
        let now = Instant::now();
        let until = now + Duration::from_millis(300);
        let mut turn = Turn::new(until);

        let mut attempts = Vec::new();
        while let Some(next) = turn.resume(*attempts.last().unwrap_or(&now)) {
            attempts.push(next);
        }

        assert_eq!(attempts.last(), Some(&(until - SHORTEST)));
        assert!(attempts.len() > 3, "{attempts:?}");
    }

    #[test]
    fn two_that_wait_do_not_ask_together() {
        let (mut one, mut other) = (Pauses::default(), Pauses::default());

        assert!((0..20).any(|_| one.next() != other.next()));
    }
}
