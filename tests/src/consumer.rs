//! A consumer of messages whose effects can be counted.

use std::fmt;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem_examples::reference::{App, Value};
use idem_runtime::{Consumed, Inbox, InboxError};
use sqlx::Transaction;

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::patience::soon;

/// The source of its messages.
pub const QUEUE: &str = "queue";

/// One process that consumes messages. The effect of a message is a row of `audit`.
#[derive(Debug)]
pub struct Consumer<DB: TestDatabase> {
    /// Its pools and its engine.
    pub app: App<DB>,
    /// What it has processed.
    pub inbox: Inbox<DB>,
}

/// Why a message was not processed.
#[derive(Debug)]
pub enum Failure {
    /// The inbox says so.
    Inbox(InboxError),
    /// The work fails because the test wants it to.
    Work,
}

impl<DB: TestDatabase> Consumer<DB> {
    /// A consumer of this name on an engine of its own, as another process has one.
    pub async fn start(bench: &Bench<DB>, name: &str) -> Self {
        Self::of(bench.server().app().await, name)
    }

    /// A consumer of this name on this engine.
    #[must_use]
    pub fn of(app: App<DB>, name: &str) -> Self {
        let inbox = app.idempotency.inbox(name);
        Self { app, inbox }
    }

    /// Processes a message.
    ///
    /// # Errors
    /// The inbox's.
    pub async fn consume(&self, message: &str) -> Result<Consumed<()>, InboxError> {
        soon(self.inbox.consume(QUEUE, message, async |tx| Ok(apply::<DB>(tx, message).await?))).await
    }

    /// Begins to process a message, does its effect, and fails.
    ///
    /// # Panics
    /// The future panics if the message is a duplicate.
    pub async fn fail(&self, message: &str) -> Failure {
        let work = async |tx: &mut DB::Connection| {
            apply::<DB>(tx, message).await?;
            Err::<(), _>(Failure::Work)
        };
        soon(self.inbox.consume(QUEUE, message, work)).await.expect_err("the work fails")
    }

    /// A transaction of its own, as one is begun that claims.
    ///
    /// # Panics
    /// The future panics if there is none.
    pub async fn begin(&self) -> Transaction<'static, DB> {
        let begin = if DB::WRITES_IN_PARALLEL { "BEGIN" } else { "BEGIN IMMEDIATE" };
        soon(self.app.writer.begin_with(begin)).await.expect("a connection is free")
    }
}

// By hand: a derive would ask `DB: Clone`.
impl<DB: TestDatabase> Clone for Consumer<DB> {
    fn clone(&self) -> Self {
        Self { app: self.app.clone(), inbox: self.inbox.clone() }
    }
}

/// The effect of a message.
///
/// # Errors
/// The database's.
pub async fn apply<DB: TestDatabase>(connection: &mut DB::Connection, message: &str) -> sqlx::Result<()> {
    let sql = "INSERT INTO audit (tenant, note) VALUES ('t1', $1)";
    DB::execute(connection, sql, &[Value::Text(message)]).await.map(drop)
}

/// What a handler answers that claims.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.to_string()).into_response()
    }
}

impl From<InboxError> for Failure {
    fn from(error: InboxError) -> Self {
        Self::Inbox(error)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Inbox(error.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inbox(error) => error.fmt(f),
            Self::Work => f.write_str("the work failed"),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Inbox(error) => Some(error),
            Self::Work => None,
        }
    }
}
