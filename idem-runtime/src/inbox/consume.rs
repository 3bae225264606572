//! A message from BEGIN to COMMIT.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::time::{Duration, Instant};

use sqlx::Transaction;
use sqlx_core::transaction::TransactionManager;

use super::{Claim, Inbox, InboxError};
use crate::error::Error;
use crate::execute::{Stop, execute_unlimited};
use crate::held::Held;
use crate::key_value::KeyValue;
use crate::limits::{RETRIES, within};
use crate::rollback::{Condition, RolledBack, roll_back};
use crate::scope::ScopeValue;
use crate::store::{Address, Cause, MessageRequest, Probe, Store, shown};

/// How long a statement may take, beside what a claim waits for, before the connection counts as lost.
const CLAIM_MARGIN: Duration = Duration::from_secs(10);

/// What a message came to. Either way it is to be acknowledged: what it asks for is done and committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consumed<T> {
    /// It was processed now; what the work returned.
    Now(T),
    /// It had been processed before: nothing was done.
    Before,
}

impl<T> Consumed<T> {
    /// Whether the message had been processed before.
    #[must_use]
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Self::Before)
    }

    /// What the work returned, if it was done now.
    #[must_use]
    pub fn now(self) -> Option<T> {
        match self {
            Self::Now(value) => Some(value),
            Self::Before => None,
        }
    }
}

/// An error, and what it leaves of the connection.
type Ended<T> = Result<T, (InboxError, Condition)>;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl<DB: Store> Inbox<DB> {
    /// Processes a message once: begins a transaction on a connection of the engine's pool, claims the message, does
    /// `work`, checks that its transaction is still there, and commits. Returns once the database has acknowledged the
    /// COMMIT: acknowledge the message then, and only then.
    ///
    /// `source` and `message_id` are those of [`claim`](Self::claim). `work` is called if the message was not processed
    /// before, at most once, and is lent the connection inside the transaction. What it writes beside that, through
    /// another connection or to another service, is not undone when the transaction rolls back, and is done again when
    /// the message comes again. It must leave the transaction open: on PostgreSQL what a raw `COMMIT` has committed stays,
    /// the claim included; on SQLite it is refused.
    ///
    /// It has no limit in time, and holds its connection to the end: what takes long for other reasons than the
    /// database belongs before or after. The connection is waited for as the builder says
    /// ([`acquire_timeout`](crate::Builder::acquire_timeout)), and the transaction has the builder's isolation level.
    ///
    /// # Errors
    /// The work's own error, once its transaction is rolled back: whatever is done then, wait and try again say, nothing
    /// is open meanwhile. Else an [`InboxError`], made an `E`. Either way, do not acknowledge: when the message comes
    /// again it is processed, or found to have been.
    ///
    /// # Panics
    /// With the work's own panic, once its transaction is rolled back.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped, the connection is closed and the database rolls back, unless it had the COMMIT already.
    /// The message comes again either way, and then is processed or a duplicate.
    pub async fn consume<T, E, S, M, W>(&self, source: &S, message_id: &M, work: W) -> Result<Consumed<T>, E>
    where
        E: From<InboxError>,
        S: ScopeValue + ?Sized,
        M: KeyValue + ?Sized,
        W: AsyncFnOnce(&mut DB::Connection) -> Result<T, E>,
    {
        let opened = match self.message(source, message_id) {
            Ok(message) => self.open(message).await,
            Err(error) => Err(error),
        };
        self.count(
            opened.as_ref().map(|opened| if opened.is_some() { Claim::Fresh } else { Claim::Duplicate }),
        );
        let Some(Opened { mut held, lock, address }) = opened? else { return Ok(Consumed::Before) };
        // The call is within, because what comes before the first await may panic as well.
        match execute_unlimited(async { work(held.connection()).await }).await {
            Ok(Ok(value)) => match self.end(&mut held, lock, &address).await {
                Ok(()) => Ok(Consumed::Now(value)),
                Err(error) => Err(error.into()),
            },
            Ok(Err(error)) => {
                abandon(&mut held, lock).await;
                Err(error)
            }
            Err(Stop::Panicked(panic)) => {
                abandon(&mut held, lock).await;
                resume_unwind(panic)
            }
            Err(Stop::OverLimit) => unreachable!("the work has no limit"),
        }
    }

    /// Commits the transaction in which a message was [claimed](Self::claim), duplicate or not, and answers `Ok` only if
    /// it was one. Acknowledge the message then.
    ///
    /// [`Transaction::commit`] does not tell: PostgreSQL answers the COMMIT of a transaction in which a statement has
    /// failed with a rollback, which is no error, so a consumer that goes by it acknowledges a message of which nothing
    /// was kept.
    ///
    /// # Errors
    /// [`InboxError::Aborted`], [`Nested`](InboxError::Nested) or [`TransactionEnded`](InboxError::TransactionEnded) if
    /// the transaction is not what it was begun as, [`Store`](InboxError::Store) if the database refuses to commit, or
    /// does not reply. What was open is rolled back before. On SQLite a `ROLLBACK` that was followed by another `BEGIN`,
    /// both as statements, goes unnoticed, and so does a transaction in which nothing was claimed.
    ///
    /// # Cancel safety
    /// Cancel safe as far as the message goes: dropped, the transaction has committed or it rolls back, and the message
    /// comes again.
    pub async fn commit(&self, mut tx: Transaction<'_, DB>) -> Result<(), InboxError> {
        let Err((error, _)) = self.finalize(&mut tx, None, None).await else { return Ok(()) };
        // The connection is the caller's and goes back to its pool as it is.
        if let Err(error) = within(DB::count_none(&mut tx)).await {
            tracing::warn!(error = %shown(&error), "a transaction that is over may still be counted as open");
        }
        Err(error)
    }

    /// Opens a transaction and claims the message in it; `None` if the message is a duplicate. Then, and with an error,
    /// nothing is open and the connection is given back.
    fn open(&self, message: MessageRequest) -> BoxFuture<'_, Result<Option<Opened<DB>>, InboxError>> {
        Box::pin(async move {
            let mut held = self.engine.take_connection().await?;
            match self.try_begin(held.connection(), &message).await {
                Ok(Begun::Fresh(lock)) => Ok(Some(Opened { held, lock, address: message.address })),
                Ok(Begun::Duplicate(condition)) => {
                    held.end(condition).await;
                    Ok(None)
                }
                Err((error, condition)) => {
                    held.end(condition).await;
                    Err(error)
                }
            }
        })
    }

    /// Begins, and begins again after a lost race: nothing has been done yet.
    async fn try_begin(&self, connection: &mut DB::Connection, message: &MessageRequest) -> Ended<Begun<DB>> {
        // Outside of the transaction, where a failure spoils nothing.
        match tokio::time::timeout(CLAIM_MARGIN, self.engine.check(connection)).await {
            Ok(Ok(())) => {}
            Ok(Err(error @ Error::Misconfigured(_))) => return Err((error.into(), Condition::Clean)),
            Ok(Err(error)) => return Err((error.into(), Condition::Suspect)),
            Err(elapsed) => return Err((sqlx::Error::Io(elapsed.into()).into(), Condition::Suspect)),
        }
        let mut retries = RETRIES;
        loop {
            let begun = Instant::now();
            let statement = DB::begin(self.engine.defaults.isolation);
            within(DB::TransactionManager::begin(connection, Some(statement)))
                .await
                .map_err(|error| (error.into(), Condition::Suspect))?;
            let lock = DB::lock(&self.engine.pools);

            let claim = self.claim_message(connection, message, Some(begun));
            let claim = match tokio::time::timeout(self.wait + CLAIM_MARGIN, claim).await {
                Ok(claim) => claim,
                Err(elapsed) => {
                    return Err((sqlx::Error::Io(elapsed.into()).into(), Condition::Suspect));
                }
            };
            if matches!(claim, Ok(Claim::Fresh)) {
                return Ok(Begun::Fresh(lock));
            }
            let rolled_back = roll_back::<DB>(connection).await;
            drop(lock);
            match claim {
                Ok(_) => return Ok(Begun::Duplicate(rolled_back.condition())),
                Err(InboxError::Store(error))
                    if Cause::of(&error) == Cause::Conflict
                        && retries > 0
                        && rolled_back == RolledBack::Acknowledged =>
                {
                    retries -= 1;
                }
                Err(error) => {
                    // After a failover the server stays read-only; another connection finds the new one.
                    let is_suspect = matches!(
                        &error,
                        InboxError::Store(error) if matches!(Cause::of(error), Cause::ReadOnly | Cause::ConnectionLost)
                    );
                    let condition = if is_suspect { Condition::Suspect } else { rolled_back.condition() };
                    return Err((error, condition));
                }
            }
        }
    }

    /// Commits what `work` has done, and gives the connection back.
    fn end<'a>(
        &'a self,
        held: &'a mut Held<DB>,
        lock: DB::Lock,
        claimed: &'a Address,
    ) -> BoxFuture<'a, Result<(), InboxError>> {
        Box::pin(async move {
            let finalized = self.finalize(held.connection(), Some(lock), Some(claimed)).await;
            match finalized {
                Ok(()) => {
                    held.release().await;
                    Ok(())
                }
                Err((error, condition)) => {
                    held.end(condition).await;
                    Err(error)
                }
            }
        })
    }

    /// COMMIT, of a transaction that is known to be the one that claimed. With an error nothing is open any more.
    async fn finalize(
        &self,
        connection: &mut DB::Connection,
        lock: Option<DB::Lock>,
        claimed: Option<&Address>,
    ) -> Ended<()> {
        let depth = DB::TransactionManager::get_transaction_depth(connection);
        let probe = within(DB::probe_claims(connection, &self.engine.statements, claimed)).await;
        let error = match probe {
            _ if depth > 1 => InboxError::Nested,
            Ok(Probe::Own) if depth == 1 => {
                drop(lock);
                // Not `Transaction::commit`, whose drop would leave an error's ROLLBACK to the connection's next user.
                match within(DB::TransactionManager::commit(connection)).await {
                    Ok(()) => return Ok(()),
                    Err(error) if DB::is_rolled_back(&error) => InboxError::TransactionEnded,
                    Err(error) => InboxError::Store(error),
                }
            }
            Ok(Probe::Aborted) => InboxError::Aborted,
            Ok(Probe::Own | Probe::Lost) => InboxError::TransactionEnded,
            Err(error) => InboxError::Store(error),
        };
        let rolled_back = roll_back::<DB>(connection).await;
        let is_known = matches!(error, InboxError::Nested | InboxError::Aborted);
        Err((error, if is_known { rolled_back.condition() } else { Condition::Suspect }))
    }
}

/// A transaction of [`Inbox::consume`]'s that has claimed the message at `address`.
struct Opened<DB: Store> {
    held: Held<DB>,
    lock: DB::Lock,
    address: Address,
}

/// What became of the beginning of one.
enum Begun<DB: Store> {
    /// It has claimed the message.
    Fresh(DB::Lock),
    /// The message was processed before, and the transaction is over.
    Duplicate(Condition),
}

/// Rolls back what the work has done, and gives the connection back.
fn abandon<DB: Store>(held: &mut Held<DB>, lock: DB::Lock) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        let condition = roll_back::<DB>(held.connection()).await.condition();
        held.end(condition).await;
        drop(lock);
    })
}
