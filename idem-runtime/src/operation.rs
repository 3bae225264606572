//! By hand: the steps of a run for a transaction that begins below the handler.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use sqlx::Transaction;

use crate::admission::Call;
use crate::axum::{Guard, begin};
use crate::engine::outcome;
use crate::execution::Execution;
use crate::fingerprint::Fingerprint;
use crate::key_value::KeyValue;
use crate::limits::ttl_secs;
use crate::options::{InProgress, Options};
use crate::outcome::{RecordRule, Verdict};
use crate::policy::Policy;
use crate::scope::ScopeValue;
use crate::steps::run;
use crate::store::Store;
use crate::transient::{Look, LookAt as _, Transient};

/// How long a duplicate may wait, in milliseconds.
const WAITS_MS: std::ops::RangeInclusive<u128> = 10..=10_000;

/// An idempotent operation that is described by hand, for an application whose transactions begin below its handlers:
/// in a service, or in a repository.
///
/// [`Guard::by_hand`] begins one. The handler takes the guard as its first argument, says what the key is unique within
/// and what a retry is compared by, and hands the operation to the service, which [runs](Self::run) it. From there on
/// it is what `#[idempotent]` makes of a handler, step by step and by the same code: the key is reserved, the work done
/// and its answer recorded in one transaction.
///
/// What the attribute demands is here left to the author:
/// - an operation without a [scope](Self::scope) is answered 500 `idempotency_scope_unresolved`, never run;
/// - an input that is not given to [`fingerprint`](Self::fingerprint) is not compared. Method and path always are;
/// - nothing stops the work from writing through another connection, whose writes stay when the transaction is rolled
///   back.
///
/// # Examples
/// ```
/// # #[cfg(feature = "postgres")] mod example {
/// use axum::Json;
/// use axum::extract::State;
/// use axum::http::StatusCode;
/// use axum::response::Response;
/// use idem_runtime::{Guard, Operation};
/// use sqlx::Postgres;
/// # #[derive(serde::Deserialize, serde::Serialize)]
/// # struct NewOrder { item: String }
///
/// async fn create(guard: Guard<Postgres>, State(orders): State<Orders>, Json(new): Json<NewOrder>) -> Response {
///     let operation = guard.by_hand().endpoint().fingerprint(&Json(&new));
///     orders.place(operation, new).await
/// }
///
/// #[derive(Clone)]
/// struct Orders;
///
/// impl Orders {
///     async fn place(&self, operation: Operation<Postgres>, new: NewOrder) -> Response {
///         let work = operation.run(move |tx, _execution| {
///             Box::pin(async move {
///                 let insert = sqlx::query("INSERT INTO orders (item) VALUES ($1)").bind(new.item);
///                 match insert.execute(&mut **tx).await {
///                     Ok(_) => Ok(StatusCode::CREATED),
///                     Err(_) => Err(StatusCode::INTERNAL_SERVER_ERROR),
///                 }
///             })
///         });
///         work.await
///     }
/// }
/// # }
/// ```
#[must_use = "an operation does nothing until it runs"]
pub struct Operation<DB: Store> {
    call: Call<DB>,
}

impl<DB: Store, P: Policy> Guard<DB, P> {
    /// Begins an operation that the handler describes itself, with the options and scope parts of the guard's policy.
    pub fn by_hand(self) -> Operation<DB> {
        Operation { call: begin(self, Options::NONE).0 }
    }

    /// The same under a name of its own, `endpoint = "…"` of the attribute: it is compared in place of the path, and
    /// [`endpoint`](Operation::endpoint) puts it into the scope, so that the route may move. An empty one is answered 500
    /// `idempotency_scope_unresolved`.
    pub fn by_hand_as(self, endpoint: &'static str) -> Operation<DB> {
        Operation { call: begin(self, Options::NONE.endpoint(endpoint)).0 }
    }
}

impl<DB: Store> Operation<DB> {
    /// Adds a part to the scope, after those already there: `tenant`, say. The label is part of its identity.
    pub fn scope<V: ScopeValue + ?Sized>(mut self, label: &'static str, value: &V) -> Self {
        self.call.scope(label, value);
        self
    }

    /// Adds the endpoint to the scope: method and matched route, or its own name.
    pub fn endpoint(mut self) -> Self {
        self.call.endpoint();
        self
    }

    /// Makes the scope the one that all requests share: whoever sends a key gets its answer. Beside other parts it is
    /// answered 500 `idempotency_scope_unresolved`, as an operation without a scope is.
    pub fn global(mut self) -> Self {
        self.call.global();
        self
    }

    /// Adds an input of the request to what a retry is compared by. A body that has been taken out of its extractor can
    /// be put back by reference: `&Json(&new)`.
    pub fn fingerprint<T: Fingerprint>(mut self, input: &T) -> Self {
        self.call.fingerprint(input);
        self
    }

    /// Takes the key from a field of the request instead of its header, with the same characters and length. `None` is
    /// a request without a key.
    pub fn key<K: KeyValue + ?Sized>(mut self, value: &K) -> Self {
        self.call.key(value);
        self
    }

    /// How long the key is remembered from its reservation, in whole seconds, rounded up: 1 s to 10 years, what is
    /// beyond counts as the nearer of them; one day if not given. Below a day, a client that retries late runs again.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.call.rules().ttl_secs = ttl_secs(ttl);
        self
    }

    /// Whether a request must have a key; `true` if not given. Otherwise one without it runs in a plain transaction
    /// with nothing stored, each time that it comes.
    pub fn required(mut self, required: bool) -> Self {
        self.call.rules().required = required;
        self
    }

    /// Which answers are stored; [`RecordRule::Decided`] if not given.
    pub fn record(mut self, rule: RecordRule) -> Self {
        self.call.rules().record = rule;
        self
    }

    /// Has a duplicate of a running request wait for its answer: 10 ms to 10 s, what is beyond counts as the nearer of
    /// them; not at all if not given. When the time is over it is answered 409.
    ///
    /// It waits without a connection, and ends when its client leaves. If the first request leaves nothing behind, it
    /// runs.
    pub fn wait(self, limit: Duration) -> Self {
        self.wait_then(limit, 409)
    }

    /// The same for a sender of events, to whom 503 with `Retry-After` is a reason to come again.
    pub fn wait_or_unavailable(self, limit: Duration) -> Self {
        self.wait_then(limit, 503)
    }

    fn wait_then(mut self, limit: Duration, then: u16) -> Self {
        let limit = limit.as_millis().clamp(*WAITS_MS.start(), *WAITS_MS.end());
        // At most ten thousand.
        let limit_ms = u32::try_from(limit).unwrap_or(u32::MAX);
        self.call.rules().wait(InProgress::Wait { limit_ms, then });
        self
    }

    /// Runs the operation: reserves the key, does `work` in the same transaction, records its answer there, commits,
    /// and gives the answer, or that of the request that had the key before.
    ///
    /// `work` is called at most once. It is lent the transaction and must leave it open: an `Err`, or an answer of 400
    /// and above, rolls it back. A panic in it goes on in the caller once that is done.
    ///
    /// # Cancel safety
    /// Cancel safe: dropped before anything has begun, nothing does; later, the work goes on in a task of its own to its
    /// end, and its answer is found by the retry.
    pub async fn run<T, E, W>(self, work: W) -> Response
    where
        T: IntoResponse + 'static,
        E: IntoResponse + Transient + 'static,
        W: for<'a> FnOnce(
                &'a mut Transaction<'_, DB>,
                &'a Execution,
            ) -> Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>
            + Send
            + 'static,
    {
        let work = run(self.call, move |tx, execution| {
            Box::pin(async move {
                let value = work(tx, execution).await;
                outcome(verdict(&value), value)
            })
        });
        work.await
    }
}

fn verdict<T, E: Transient>(value: &Result<T, E>) -> Verdict {
    (&&&&&Look(value)).look_at_answer()
}

impl<DB: Store> fmt::Debug for Operation<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").field("call", &self.call).finish()
    }
}
