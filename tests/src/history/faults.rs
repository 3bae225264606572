//! What breaks while the clients are at work.

use std::time::Duration;

use tokio::time::timeout;

use super::database;
use super::record::{Fault, FaultKind, Recorder};
use super::servers::Server;
use crate::database::PgPlace;
use crate::proxy::{At, Hold, Round};

/// How long a fault waits for a request to come to its step before it goes without.
const STEP_LIMIT: Duration = Duration::from_millis(300);

/// A fault that is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedFault {
    /// The requests that come before it.
    pub after: usize,
    /// What it does.
    pub damage: Damage,
}

/// What a fault does to one of the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Kills it, whatever it is doing.
    Kill,
    /// Kills it while one of its requests is at this step.
    KillAt(At, Step),
    /// Has the server end one of its sessions, rather one in a transaction.
    Terminate,
    /// Cuts a connection at this step.
    Cut(At, Step),
}

/// A step of a run, by what is sent to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The transaction begins.
    Begin,
    /// The key is reserved.
    Reserve,
    /// An expired key is taken over.
    TakeOver,
    /// The handler writes.
    Work,
    /// The answer is recorded.
    Record,
    /// It is committed.
    Commit,
    /// Or rolled back.
    RollBack,
    /// And the answer of a rolled-back run stored.
    StoreFailed,
}

impl Step {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Begin,
        Self::Reserve,
        Self::TakeOver,
        Self::Work,
        Self::Record,
        Self::Commit,
        Self::RollBack,
        Self::StoreFailed,
    ];

    fn is(self, round: &Round) -> bool {
        let of_the_keys = round.sql.contains("idempotency_keys");
        match self {
            Self::Begin => round.runs("BEGIN"),
            Self::Reserve => of_the_keys && round.runs("ON CONFLICT (id) DO NOTHING"),
            Self::TakeOver => of_the_keys && round.runs("AS k SET scope"),
            Self::Work => !of_the_keys && round.runs("INSERT INTO"),
            Self::Record => of_the_keys && round.runs("AS k SET response_status"),
            Self::Commit => round.runs("COMMIT"),
            Self::RollBack => round.runs("ROLLBACK"),
            Self::StoreFailed => of_the_keys && round.runs("ON CONFLICT (id) DO UPDATE"),
        }
    }
}

/// Lets the faults of one process happen, one after the other, until the clients have done. Then the process runs.
///
/// # Cancel safety
/// Not cancel safe: dropped, it may leave the process killed.
pub async fn happen(place: &PgPlace, recorder: &Recorder, server: &mut Server, planned: &[PlannedFault]) {
    for fault in planned {
        if !recorder.requests(fault.after).await {
            return;
        }
        happens(place, recorder, server, fault.damage).await;
        // What went through is of no interest, and grows.
        server.proxy.forget();
    }
}

async fn happens(place: &PgPlace, recorder: &Recorder, server: &mut Server, damage: Damage) {
    let hold = match damage {
        Damage::KillAt(at, step) | Damage::Cut(at, step) => {
            reached(server.proxy.hold(at, move |round| step.is(round))).await
        }
        Damage::Kill | Damage::Terminate => None,
    };
    let began = recorder.now();
    let kind = match damage {
        Damage::Kill | Damage::KillAt(..) => {
            server.kill().await;
            if let Some(hold) = hold {
                hold.cut();
            }
            server.restart().await;
            FaultKind::Kill
        }
        Damage::Terminate => {
            database::terminate_one(place, &server.sessions).await;
            FaultKind::Terminate
        }
        Damage::Cut(..) => {
            // Without one, no request came to the step.
            let Some(hold) = hold else { return };
            hold.cut();
            FaultKind::Cut
        }
    };
    let ended = recorder.now();
    recorder.history().faults.push(Fault { kind, process: server.number, began, ended });
}

/// The hold, once a request is there; let go if none comes.
async fn reached(mut hold: Hold) -> Option<Hold> {
    if timeout(STEP_LIMIT, hold.reached()).await.is_err() {
        hold.release();
        return None;
    }
    Some(hold)
}
