//! Idempotent HTTP handlers for axum and sqlx: the idempotency key, the business writes and the stored answer
//! commit in one transaction, or not at all.
//!
//! A request that carries an `Idempotency-Key` changes the database at most once per key and scope, and every retry
//! of it gets the same answer, whatever crashes, disconnects or repeats in between. There is no moment at which the
//! work is done and the record of it is not, so there is nothing to recover: a crash is a rollback, and the retry
//! runs.
//!
//! ```
//! # #[cfg(all(feature = "axum", feature = "postgres"))] mod example {
//! use axum::http::StatusCode;
//! use axum::routing::post;
//! use axum::{Json, Router};
//! use idem_runtime::{Idempotency, idempotent};
//! use sqlx::{PgConnection, Postgres};
//! # use axum::extract::FromRequestParts;
//! # use axum::http::request::Parts;
//! # #[derive(idem_runtime::ScopeValue)]
//! # struct TenantId(String);
//! # impl<S: Sync> FromRequestParts<S> for TenantId {
//! #     type Rejection = StatusCode;
//! #     async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
//! #         let tenant = parts.headers.get("x-tenant").and_then(|tenant| tenant.to_str().ok());
//! #         tenant.map(|tenant| Self(tenant.to_owned())).ok_or(StatusCode::UNAUTHORIZED)
//! #     }
//! # }
//! # #[derive(serde::Deserialize, serde::Serialize)]
//! # struct CreateOrder { item: String }
//! # #[derive(serde::Serialize)]
//! # struct Order { id: i64 }
//!
//! #[idempotent(scope = "tenant,endpoint", ttl = "24h")]
//! async fn create_order(
//!     tx: &mut PgConnection,         // inside a transaction that the attribute opens and commits
//!     tenant: TenantId,              // an extractor of the application, named in `scope`
//!     Json(req): Json<CreateOrder>,  // compared with the first request's when the key comes again
//! ) -> Result<(StatusCode, Json<Order>), StatusCode> {
//!     let id = sqlx::query_scalar("INSERT INTO orders (tenant, item) VALUES ($1, $2) RETURNING id")
//!         .bind(&tenant.0)
//!         .bind(&req.item)
//!         .fetch_one(&mut *tx)
//!         .await
//!         .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
//!     Ok((StatusCode::CREATED, Json(Order { id })))
//! }
//!
//! pub async fn app(pool: sqlx::PgPool) -> Result<Router, Box<dyn std::error::Error>> {
//!     let idempotency = Idempotency::builder(pool).build()?;
//!     idempotency.migrate().await?;
//!     Ok(Router::new().route("/orders", post(create_order)).with_state(idempotency))
//! }
//! # }
//! ```
//!
//! | a request | is answered |
//! |---|---|
//! | with a new key | by the handler, once its transaction has committed |
//! | again, unchanged | the same status, headers and body, with `Idempotent-Replayed: true` |
//! | again, while the first runs | 409 with `Retry-After`; as above, if it is told to wait |
//! | with a key that another request used | 422 |
//! | without a key, or with one that is not valid | 400 |
//!
//! The manual of the attribute is at [`idempotent`]: its options, the arguments of a handler, policies, surprises, and how
//! to migrate an existing handler.
//!
//! # Beside the attribute
//!
//! | for | there is |
//! |---|---|
//! | what the handlers of an API have in common | a [policy](macro@Policy): options, a scope and extractors, in one type that any crate of a workspace may hold |
//! | events that a sender delivers more than once | [`Webhook`], a policy |
//! | what a run tells its handler | [`&Execution`](Execution): the key, keys for calls to other services, work after COMMIT |
//! | what a handler reads beside its transaction | state that is [`Inert`]: nothing is written through it; [`ReadOnly`] pools |
//! | a transaction that begins below the handler | [`Operation`], the steps of the attribute by hand |
//! | messages of a queue, and what a handler must not do twice for another reason than its key | [`Inbox`], without HTTP |
//! | what is compared when a key comes again | [`Fingerprint`], for extractors of your own |
//! | whom a key belongs to, and keys in the request's content | [`ScopeValue`], [`KeyValue`] |
//! | one answer that is to end otherwise than its status says | [`KeepWrites`], [`Record`], [`DoNotRecord`]; [`Transient`] for an error type |
//! | how errors and replays look to clients | [`ErrorShape`], [`Builder`] |
//! | start-up, shutdown and operators | [`Idempotency`]: its builder, `migrate`, `check`, `drain`, `find`, `forget`, `health` |
//! | rows that have expired | [`Sweeper`], [`Idempotency::sweep_once`] |
//! | unit tests | [`Idempotency::guard`] |
//!
//! # Logs and metrics
//!
//! Every request that a key protects, or should, is one `tracing` span: `idempotency`, level INFO, target `idem_runtime`,
//! within the request's own. Its fields are `idempotency.outcome` (`executed`, `replayed`, `in_progress`, `mismatch`, …),
//! `idempotency.endpoint`, `idempotency.scope` and `idempotency.id`, the id of the key row. The key itself is logged at
//! level DEBUG only, and the types that hold it do not show it in `Debug`.
//!
//! With the feature `metrics`: the counter `idempotency_requests_total` by `outcome` and `endpoint`, and histograms in
//! seconds of the steps of a request, such as `idempotency_execute_seconds`, by `endpoint`. They are described to the
//! recorder that is installed when an engine is built. The file `docs/observability.md` of the repository defines each
//! outcome, field and metric.
//!
//! # Features
//!
//! Additive; none but `axum` is on by default, so an application names its database. A consumer of messages needs nothing
//! else: `default-features = false`.
//!
//! | feature | brings |
//! |---|---|
//! | `axum` | the attribute's run time: the guard, `Fingerprint` for axum's extractors, problem bodies |
//! | `axum-extra` | `Fingerprint` for the extractors of axum-extra |
//! | `metrics` | counters and histograms by the crate `metrics` |
//! | `postgres` | PostgreSQL 13 or newer |
//! | `sqlite` | SQLite 3.37 or newer |

// Without axum there are no requests, what is there for one database is idle without it, and what is said of all of them
// links to what is not built.
#![cfg_attr(
    not(all(feature = "axum", feature = "postgres", feature = "sqlite")),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        rustdoc::broken_intra_doc_links,
        rustdoc::private_intra_doc_links
    )
)]

mod builder;
mod canonical;
mod error;
mod fingerprint;
mod health;
mod held;
mod idempotency;
mod inbox;
mod inert;
mod jitter;
mod key;
mod key_value;
mod limits;
mod observed;
mod rollback;
mod scope;
#[cfg(feature = "axum")]
mod steps;
mod store;
mod sweeper;
#[cfg(feature = "axum")]
mod tasks;
mod transient;
mod tx;

#[cfg(feature = "axum")]
mod admission;
#[cfg(feature = "axum")]
mod answer;
#[cfg(feature = "axum")]
mod axum;
#[cfg(feature = "axum")]
mod ending;
#[cfg(feature = "axum")]
mod engine;
mod execute;
#[cfg(feature = "axum")]
mod execution;
#[cfg(feature = "axum")]
mod in_process;
#[cfg(feature = "axum")]
mod lent;
#[cfg(feature = "axum")]
mod operation;
#[cfg(feature = "axum")]
mod options;
mod outcome;
#[cfg(feature = "axum")]
mod policy;
mod problem;
mod read_only;
#[cfg(feature = "axum")]
mod recording;
mod replay;
#[cfg(feature = "axum")]
mod reply;
#[cfg(feature = "axum")]
mod reserving;
#[cfg(feature = "axum")]
mod turn;
#[cfg(feature = "axum")]
mod waiting;
#[cfg(feature = "axum")]
mod webhook;

#[cfg(feature = "axum")]
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use idem_macros::{Inert, Policy, ScopeValue, idempotent};

#[cfg(feature = "axum")]
pub use self::axum::{Guard, HasEngine, Received};
pub use self::builder::Builder;
pub use self::error::{BuildError, Error};
#[cfg(feature = "axum")]
pub use self::execution::Execution;
pub use self::fingerprint::{Digest, Fingerprint, FingerprintError, Fingerprinter, Payload};
pub use self::health::Health;
pub use self::idempotency::Idempotency;
pub use self::inbox::{Claim, Consumed, Inbox, InboxError};
pub use self::inert::Inert;
pub use self::key::{IdempotencyKey, KeyError, KeyFormat, Syntax};
pub use self::key_value::KeyValue;
#[cfg(feature = "axum")]
pub use self::operation::Operation;
pub use self::outcome::{DoNotRecord, KeepWrites, Record, RecordRule};
#[cfg(feature = "axum")]
pub use self::policy::{NoPolicy, Policy};
#[cfg(feature = "axum")]
pub use self::problem::Refusal;
pub use self::problem::{DEFAULT_PROBLEM_BASE, ErrorShape};
pub use self::read_only::ReadOnly;
pub use self::replay::{
    IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED, REQUEST_HEADERS, RESPONSE_HEADERS, StoredResponse,
};
pub use self::scope::{Scope, ScopeError, ScopeValue};
#[cfg(feature = "sqlite")]
pub use self::store::SqlitePools;
pub use self::store::{Isolation, KeyRow, Source, Store, TableNameError};
pub use self::sweeper::{Sweeper, SweeperHandle};
#[cfg(feature = "axum")]
pub use self::tasks::TaskFuture;
pub use self::transient::{Transient, is_transient};
pub use self::tx::Tx;
#[cfg(feature = "axum")]
pub use self::webhook::Webhook;
