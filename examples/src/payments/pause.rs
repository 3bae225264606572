//! Moments at which the service can be made to stand still, so that it can be killed there.

use std::str::FromStr;

use axum::extract::State;
use axum::http::StatusCode;
use idem_runtime::Inert;

use crate::reference::Gate;

/// A moment between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Inert)]
pub enum Moment {
    /// `answered`: the provider has answered a handler, which has not returned yet.
    Answered,
    /// `queued`: a handler has written its row into the outbox and has not returned yet.
    Queued,
    /// `committed`: COMMIT is done, and what was left for after it begins.
    Committed,
    /// `dispatch`: the dispatcher is about to look into the outbox.
    Dispatch,
    /// `sent`: the provider has answered the dispatcher, which has not marked the order yet.
    Sent,
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "answered" => Ok(Self::Answered),
            "queued" => Ok(Self::Queued),
            "committed" => Ok(Self::Committed),
            "dispatch" => Ok(Self::Dispatch),
            "sent" => Ok(Self::Sent),
            other => Err(format!("`{other}` is no moment at which the service can stand still")),
        }
    }
}

/// Where this process stands still, if anywhere. Clones are one.
#[derive(Clone, Debug, Default, Inert)]
pub(super) struct Pause {
    at: Option<Moment>,
    gate: Gate,
}

impl Pause {
    /// A process that stands still at this moment; never, if there is none.
    #[must_use]
    pub(super) fn at(moment: Option<Moment>) -> Self {
        Self { at: moment, gate: Gate::default() }
    }

    /// Stands still if this is the moment, until `POST /pause`.
    ///
    /// # Cancel safety
    /// Cancel safe: who stops waiting is no longer counted.
    pub(super) async fn reach(&self, moment: Moment) {
        if self.at == Some(moment) {
            self.gate.pass().await;
        }
    }
}

/// `GET /pause`: answers when one task stands still.
pub(super) async fn reached(State(pause): State<Pause>) -> StatusCode {
    pause.gate.arrivals(1).await;
    StatusCode::NO_CONTENT
}

/// `POST /pause`: goes on, and does not stand still again.
pub(super) async fn go_on(State(pause): State<Pause>) -> StatusCode {
    pause.gate.open();
    StatusCode::NO_CONTENT
}
