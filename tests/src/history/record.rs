//! What happened, as the clients saw it, and what the database holds afterwards.
//!
//! Every time is one of the test process's monotonic clock, since the history began. What is known of a request is
//! that the server worked on it at some time between its beginning and its end; of one without an answer, that the
//! server may still work on it after its end.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::operation::{Operation, ScopedKey};
use super::said::{self, Said};
use crate::http::Answer;

/// One request.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// What it asked for.
    pub operation: Operation,
    /// The number of the process it was sent to.
    pub process: usize,
    /// Before it was sent.
    pub began: Duration,
    /// When its answer had come, or its connection had ended.
    pub ended: Duration,
    /// What came of it.
    pub outcome: Outcome,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With a whole answer.
    Answered(Answer),
    /// The client hung up before one came.
    HungUp,
    /// The connection ended without one.
    Silence,
}

impl Attempt {
    /// Its answer, if it had one.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        match &self.outcome {
            Outcome::Answered(answer) => Some(answer),
            Outcome::HungUp | Outcome::Silence => None,
        }
    }

    /// What its answer said, if it had one.
    #[must_use]
    pub fn said(&self) -> Option<Said> {
        self.answer().map(|answer| said::read(self.operation, answer))
    }
}

/// A key row that was made to expire, and what its key had brought about by then.
#[derive(Clone, Debug)]
pub struct Expiry {
    /// The key.
    pub at: ScopedKey,
    /// Before the row was touched.
    pub began: Duration,
    /// When it had expired for all to see.
    pub ended: Duration,
    /// All of the key's effects, read in the transaction that made the row expire. While that was open the row still
    /// kept others from running.
    pub effects: Vec<Effect>,
}

/// A fault that was injected.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What was done.
    pub kind: FaultKind,
    /// To which process, or a connection of which.
    pub process: usize,
    /// Before it was done.
    pub began: Duration,
    /// When it was done; of a killed process, when the next one accepted requests.
    pub ended: Duration,
}

/// What can be done to a process or its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// `kill -9`, and another process in its place.
    Kill,
    /// One of its sessions was ended by the server.
    Terminate,
    /// One of its connections was cut on the way.
    Cut,
}

/// A business row, or one of the times that a counter was added to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effect {
    /// The operation that the row names.
    pub of: Operation,
    /// The tenant that the row belongs to.
    pub tenant: String,
    /// The row's number, or the count.
    pub number: i64,
}

/// A key row.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its scope and key, as texts.
    pub row: (String, String),
    /// Whether it has not expired.
    pub is_live: bool,
    /// The stored status and body; none while a request runs.
    pub answer: Option<(i64, Vec<u8>)>,
}

/// A whole history.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The requests.
    pub attempts: Vec<Attempt>,
    /// The rows made to expire.
    pub expiries: Vec<Expiry>,
    /// The faults.
    pub faults: Vec<Fault>,
    /// What clients gave up on after they had tried for long.
    pub given_up: Vec<Operation>,
    /// The business rows in the end.
    pub effects: Vec<Effect>,
    /// The key rows in the end.
    pub records: Vec<Record>,
}

/// Writes a history down while it happens. Clones write the same one.
#[derive(Clone, Debug)]
pub struct Recorder {
    start: Instant,
    history: Arc<Mutex<History>>,
    requests: Arc<watch::Sender<usize>>,
}

impl Recorder {
    /// Begins an empty history.
    #[must_use]
    pub fn begin() -> Self {
        Self { start: Instant::now(), history: Arc::default(), requests: Arc::default() }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Says that a request is about to be sent.
    pub fn request(&self) {
        self.requests.send_modify(|count| *count = count.saturating_add(1));
    }

    /// Says that the clients have done.
    pub fn no_more_requests(&self) {
        self.requests.send_replace(usize::MAX);
    }

    /// Waits until so many requests have been sent. `false` if the clients have done.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing is changed by waiting.
    pub async fn requests(&self, count: usize) -> bool {
        let mut requests = self.requests.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        requests.wait_for(|sent| *sent >= count).await.is_ok_and(|sent| *sent < usize::MAX)
    }

    /// The history so far, to be added to.
    pub fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (began, ended) = (self.began.as_secs_f64(), self.ended.as_secs_f64());
        write!(f, "{began:9.4} to {ended:9.4} s, process {}, {}: ", self.process, self.operation)?;
        match (&self.outcome, self.said()) {
            (Outcome::Answered(answer), Some(Said::Decided(_) | Said::Nonsense)) => write!(f, "{answer:?}"),
            (Outcome::Answered(answer), said) => write!(f, "{} {said:?}", answer.status),
            (Outcome::HungUp, _) => f.write_str("hung up"),
            (Outcome::Silence, _) => f.write_str("no answer"),
        }
    }
}

impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (began, ended) = (self.began.as_secs_f64(), self.ended.as_secs_f64());
        write!(f, "{began:9.4} to {ended:9.4} s, {} expired with effects {:?}", self.at, self.effects)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (began, ended) = (self.began.as_secs_f64(), self.ended.as_secs_f64());
        write!(f, "{began:9.4} to {ended:9.4} s, process {}: {:?}", self.process, self.kind)
    }
}
