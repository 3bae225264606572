//! Messages of a queue, each processed once: the engine without HTTP.

mod consume;
mod error;
mod message;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx_core::transaction::TransactionManager;

pub use self::consume::Consumed;
pub use self::error::InboxError;
use crate::idempotency::{Idempotency, Inner};
use crate::inert::Inert;
use crate::key_value::KeyValue;
use crate::limits::ttl_secs;
use crate::observed::{self, MessageOutcome};
use crate::scope::ScopeValue;
use crate::store::{Address, Claimed, KeyRow, MessageRequest, Store};

/// How long a message is remembered if nothing else is said: SQS keeps one for 14 days at most, which is the longest of
/// the common queues, and a day is for clocks and for the hand that empties a dead-letter queue.
const DEFAULT_TTL: Duration = Duration::from_hours(15 * 24);

/// How long another transaction is waited for if nothing else is said.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);

/// The range of a wait. PostgreSQL waits for locks that have nothing to do with the message, such as that by which a
/// table grows, and below 50 ms those are not always had.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_hours(1);

#[doc = include_str!("manual.md")]
pub struct Inbox<DB: Store> {
    engine: Arc<Inner<DB>>,
    consumer: Arc<str>,
    ttl_secs: u64,
    wait: Duration,
}

/// What became of a claim.
///
/// There is no third: a consumer has an answer to both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a duplicate must not be processed"]
pub enum Claim {
    /// The message is this transaction's to process. The claim holds if the transaction commits, and is gone if it does
    /// not.
    Fresh,
    /// The message was processed before, or is claimed in this very transaction already. Do nothing, and acknowledge
    /// it.
    Duplicate,
}

impl Claim {
    /// Whether the message was processed before.
    #[must_use]
    pub fn is_duplicate(self) -> bool {
        self == Self::Duplicate
    }
}

impl<DB: Store> Idempotency<DB> {
    /// The inbox of `consumer`: what it has processed is told by it from what it has not. Two consumers of one message
    /// process it once each.
    ///
    /// The name is stored with every message: keep it when the code is renamed. An empty one, or one with a NUL, is
    /// refused when a message is claimed.
    #[must_use]
    pub fn inbox(&self, consumer: &str) -> Inbox<DB> {
        Inbox {
            engine: Arc::clone(&self.0),
            consumer: consumer.into(),
            ttl_secs: ttl_secs(DEFAULT_TTL),
            wait: DEFAULT_WAIT,
        }
    }
}

impl<DB: Store> Inbox<DB> {
    /// The longest id of a message, in bytes.
    pub const MAX_ID_LEN: usize = message::MAX_ID_LEN;

    /// How long a message is remembered from its claim, in whole seconds, rounded up: 1 s to 10 years, what is beyond
    /// counts as the nearer of them; 15 days if not given.
    ///
    /// Longer than the message can come again: what the queue keeps it for, its dead-letter queue included, and a day.
    /// SQS keeps messages for at most 14 days, so the default will do for it; a log that is read again from its start,
    /// as Kafka's or a stream's, is remembered for as long as the log goes back. A message that comes after is processed
    /// again.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl_secs = ttl_secs(ttl);
        self
    }

    /// How long a claim waits for another transaction that holds the same message, in whole milliseconds: 50 ms to 1 h,
    /// what is beyond counts as the nearer of them; 10 s if not given. Then it is [`InboxError::InProgress`].
    ///
    /// Shorter than the queue takes to hand the message out again. It is PostgreSQL's `lock_timeout` for the claim alone,
    /// which counts for each lock; a shorter one of the session's is kept. On SQLite nobody can hold the message while
    /// another writes, and what waits is BEGIN, for 5 s.
    #[must_use]
    pub fn wait(mut self, limit: Duration) -> Self {
        self.wait = limit.clamp(SHORTEST_WAIT, LONGEST_WAIT);
        self
    }

    /// Claims a message in the caller's transaction: once it has committed, the message is a duplicate.
    ///
    /// [`consume`](Self::consume) does all of it, from BEGIN to COMMIT. This is for a transaction that is there already: that of an
    /// annotated handler, or of a consumer that begins and commits itself. The latter commits through
    /// [`commit`](Self::commit).
    ///
    /// `source` says who gave the message its id: a queue, a topic, the sender of a webhook. `message_id` is any text
    /// but an empty or blank one, without NUL, at most [`MAX_ID_LEN`](Self::MAX_ID_LEN) bytes long; an `Option` of one is
    /// an id that may be missing, and then refused.
    ///
    /// While another transaction holds the message, the claim [waits](Self::wait) for it: after its COMMIT the message is
    /// a duplicate, after its ROLLBACK it is fresh. Two transactions that claim two messages in opposite order end as
    /// PostgreSQL ends every deadlock, one of them with SQLSTATE 40P01. Above READ COMMITTED, a transaction that claims
    /// what another has just committed fails with 40001. Both are [`Store`](InboxError::Store) errors that
    /// [may pass](crate::is_transient): roll back and begin again. A claim that is the transaction's first statement
    /// meets them before anything is lost; on SQLite it has to be, unless the transaction was begun with
    /// `BEGIN IMMEDIATE`, because one that has read cannot write any more once another has.
    ///
    /// Nothing that the session has set is changed for what comes after.
    ///
    /// # Errors
    /// [`InboxError`], each with its cause. After an error of the database, and after `InProgress`, the transaction is to
    /// be rolled back, up to the savepoint that the claim is in.
    ///
    /// # Cancel safety
    /// Dropped, the claim may have been made: roll the transaction back.
    pub async fn claim<S, M>(
        &self,
        connection: &mut DB::Connection,
        source: &S,
        message_id: &M,
    ) -> Result<Claim, InboxError>
    where
        S: ScopeValue + ?Sized,
        M: KeyValue + ?Sized,
    {
        let claim = match self.message(source, message_id) {
            Ok(_) if DB::TransactionManager::get_transaction_depth(connection) == 0 => {
                Err(InboxError::NoTransaction)
            }
            Ok(message) => self.claim_message(connection, &message, None).await,
            Err(error) => Err(error),
        };
        self.count(claim.as_ref().copied());
        claim
    }

    /// Reads the live row of a message, for operators; `None` if it was not processed, or is being processed, or is
    /// forgotten. [`KeyRow::created_at_micros`] says when it was claimed.
    ///
    /// # Errors
    /// [`InboxError::Store`] if the database cannot be asked; what is said of ids and names.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn find<S, M>(&self, source: &S, message_id: &M) -> Result<Option<KeyRow>, InboxError>
    where
        S: ScopeValue + ?Sized,
        M: KeyValue + ?Sized,
    {
        Ok(self.engine.find(&self.address(source, message_id)?).await?)
    }

    /// Deletes the row of a message, so that it is processed again when it comes again. `true` if there was one.
    ///
    /// For operators: after a mistake in the consumer has been repaired, say. What it wrote stays.
    ///
    /// # Errors
    /// [`InboxError::Store`] if the database refuses; what is said of ids and names.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, the row is deleted or it is not, and the connection is closed.
    pub async fn forget<S, M>(&self, source: &S, message_id: &M) -> Result<bool, InboxError>
    where
        S: ScopeValue + ?Sized,
        M: KeyValue + ?Sized,
    {
        Ok(self.engine.forget(&self.address(source, message_id)?).await?)
    }

    fn address<S, M>(&self, source: &S, message_id: &M) -> Result<Address, InboxError>
    where
        S: ScopeValue + ?Sized,
        M: KeyValue + ?Sized,
    {
        message::address(&self.engine.settings.table, &self.consumer, source, message_id)
    }

    fn message<S, M>(&self, source: &S, message_id: &M) -> Result<MessageRequest, InboxError>
    where
        S: ScopeValue + ?Sized,
        M: KeyValue + ?Sized,
    {
        let address = self.address(source, message_id)?;
        Ok(MessageRequest { address, ttl_secs: self.ttl_secs, wait: self.wait })
    }

    /// Counts a message by what became of its claim.
    fn count(&self, claim: Result<Claim, &InboxError>) {
        let outcome = match claim {
            Ok(Claim::Fresh) => MessageOutcome::Claimed,
            Ok(Claim::Duplicate) => MessageOutcome::Duplicate,
            Err(InboxError::InProgress) => MessageOutcome::InProgress,
            Err(error) if error.is_permanent() => MessageOutcome::Rejected,
            Err(_) => MessageOutcome::Failed,
        };
        observed::message(&self.consumer, outcome);
    }

    /// The claim itself.
    ///
    /// Boxed, so that what calls it is `Send` whatever the database is.
    fn claim_message<'a>(
        &'a self,
        connection: &'a mut DB::Connection,
        message: &'a MessageRequest,
        begun: Option<Instant>,
    ) -> Pin<Box<dyn Future<Output = Result<Claim, InboxError>> + Send + 'a>> {
        Box::pin(async move {
            self.engine.check(connection).await?;
            let claimed = DB::claim(connection, &self.engine.statements, message, begun).await;
            tracing::debug!(
                consumer = &*self.consumer,
                message_id = message.address.key.as_str(),
                outcome = claimed.as_ref().map_or("failed", |claimed| claimed.name()),
                "a message is claimed"
            );
            match claimed? {
                Claimed::Fresh => Ok(Claim::Fresh),
                Claimed::Duplicate => Ok(Claim::Duplicate),
                Claimed::InProgress => Err(InboxError::InProgress),
                Claimed::Collision => Err(InboxError::Collision),
                Claimed::NoTransaction => Err(InboxError::NoTransaction),
                Claimed::Foreign => {
                    tracing::error!(
                        "a pooled connection was inside a transaction that somebody left open; it is closed"
                    );
                    Err(InboxError::Store(sqlx::Error::BeginFailed))
                }
            }
        })
    }
}

// By hand: a derive would ask `DB: Clone`.
impl<DB: Store> Clone for Inbox<DB> {
    fn clone(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            consumer: Arc::clone(&self.consumer),
            ttl_secs: self.ttl_secs,
            wait: self.wait,
        }
    }
}

/// Like the engine: in a handler it claims in the handler's own transaction.
impl<DB: Store> Inert for Inbox<DB> {}

impl<DB: Store> fmt::Debug for Inbox<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("consumer", &self.consumer)
            .field("ttl_secs", &self.ttl_secs)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
