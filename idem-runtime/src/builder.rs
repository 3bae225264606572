//! The settings of an engine.

use std::time::Duration;

use http::{HeaderName, StatusCode};

use crate::error::BuildError;
use crate::idempotency::Idempotency;
use crate::key::{KeyFormat, Syntax};
use crate::problem::{ErrorShape, Wording, describedby};
use crate::replay::{self, IDEMPOTENCY_KEY, Marker, ReplayHeaders};
use crate::store::{Isolation, Settings, Store, Table};
#[cfg(feature = "axum")]
use crate::tasks::{TaskFuture, Wrapper};

/// Longest time that a setting may name. PostgreSQL's own time-outs end at 24.8 days.
const LONGEST: Duration = Duration::from_hours(24);

/// The largest answer that may be stored, in bytes: 512 MiB. A value in PostgreSQL has 1 GiB at most, and where a client
/// reads it as text it has two characters for each byte.
pub(crate) const LARGEST_RESPONSE: usize = 512 << 20;

/// Settles how an [`Idempotency`] works. Made by [`Idempotency::builder`]; does no I/O.
#[derive(Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct Builder<DB: Store> {
    pools: DB::Pools,
    table: String,
    advisory_locks: bool,
    xmin_check: bool,
    prepared_statements: bool,
    http: HttpSettings,
    /// The error shape's own if not given.
    mismatch: Option<StatusCode>,
    defaults: Defaults,
    #[cfg(feature = "axum")]
    wrapper: Wrapper,
}

/// What the builder settles about requests and answers.
#[derive(Debug, Clone)]
pub(crate) struct HttpSettings {
    /// Whether keys are looked at.
    pub(crate) is_enabled: bool,
    pub(crate) acquire_timeout: Duration,
    pub(crate) wording: Wording,
    pub(crate) marker: Marker,
    /// The error shape's own if not given.
    echoes_key: Option<bool>,
}

impl HttpSettings {
    /// Whether an answer repeats the key that its request has.
    pub(crate) fn echoes_key(&self) -> bool {
        self.echoes_key.unwrap_or(self.wording.shape.is_stripe())
    }
}

/// What the builder settles where neither the handler nor its policy does.
#[derive(Debug, Clone)]
pub(crate) struct Defaults {
    /// The field that holds the key.
    pub(crate) header: HeaderName,
    pub(crate) syntax: Syntax,
    pub(crate) key_format: KeyFormat,
    /// The status of a mismatch.
    pub(crate) mismatch: StatusCode,
    pub(crate) replay_headers: ReplayHeaders,
    /// In bytes.
    pub(crate) max_response: usize,
    pub(crate) isolation: Option<Isolation>,
    pub(crate) run_limit: Duration,
    /// Whether a retry is compared with the first request.
    pub(crate) compares: bool,
}

impl<DB: Store> Builder<DB> {
    pub(crate) fn new(pools: DB::Pools) -> Self {
        Self {
            pools,
            table: Table::DEFAULT_NAME.to_owned(),
            advisory_locks: true,
            xmin_check: true,
            prepared_statements: true,
            http: HttpSettings {
                is_enabled: true,
                acquire_timeout: Duration::from_secs(5),
                wording: Wording::default(),
                marker: Marker::default(),
                echoes_key: None,
            },
            mismatch: None,
            defaults: Defaults {
                header: IDEMPOTENCY_KEY,
                syntax: Syntax::default(),
                key_format: KeyFormat::default(),
                mismatch: StatusCode::UNPROCESSABLE_ENTITY,
                replay_headers: ReplayHeaders::Written(&[]),
                max_response: 1 << 20,
                isolation: None,
                run_limit: Duration::from_mins(1),
                compares: true,
            },
            #[cfg(feature = "axum")]
            wrapper: Wrapper::default(),
        }
    }

    /// Whether the engine is on; `true` if not given. Off, handlers run in a plain transaction for every request: no key
    /// is judged, nothing is reserved, stored or replayed, and a duplicate runs. `build` warns of it, and so does
    /// every request that carries a key.
    ///
    /// For the hour in which the key table is the trouble, read from the application's configuration. An
    /// [`Inbox`](crate::Inbox) stays on: its messages wait in their queue.
    pub fn enabled(mut self, on: bool) -> Self {
        self.http.is_enabled = on;
        self
    }

    /// Wraps the future of every task that the engine spawns: those that run handlers, and those of
    /// [`after_commit`](crate::Execution::after_commit). Left as they are if not given.
    ///
    /// A handler does not run in its request's own task, which would end with the client. So what follows a task, such
    /// as task-locals or an error reporter's hub, is handed over here: `wrap` is called where the request's
    /// task-locals are still there, or the run's for `after_commit`, and gives a future that sets them around the one
    /// it is given. The tracing span and subscriber follow by themselves.
    ///
    /// The future must be polled to its end. One that is dropped is answered 503 with an unknown outcome; so is a panic
    /// that the wrapper catches, which otherwise goes on in the request's task.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "postgres")] mod example {
    /// use idem_runtime::{BuildError, Idempotency};
    /// use sqlx::{PgPool, Postgres};
    ///
    /// tokio::task_local! {
    ///     static REQUEST_ID: u64;
    /// }
    ///
    /// fn engine(pool: PgPool) -> Result<Idempotency<Postgres>, BuildError> {
    ///     Idempotency::builder(pool)
    ///         .wrap_tasks(|task| match REQUEST_ID.try_with(|id| *id) {
    ///             Ok(id) => Box::pin(REQUEST_ID.scope(id, task)),
    ///             Err(_) => task,
    ///         })
    ///         .build()
    /// }
    /// # }
    /// ```
    #[cfg(feature = "axum")]
    pub fn wrap_tasks<F>(mut self, wrap: F) -> Self
    where
        F: Fn(TaskFuture) -> TaskFuture + Send + Sync + 'static,
    {
        self.wrapper = Wrapper::new(wrap);
        self
    }

    /// Which spellings of the key's header field are accepted. Quoted and bare if not given.
    pub fn syntax(mut self, syntax: Syntax) -> Self {
        self.defaults.syntax = syntax;
        self
    }

    /// The field that holds the key, for an API whose clients send another; `Idempotency-Key` if not given.
    pub fn header(mut self, name: HeaderName) -> Self {
        self.defaults.header = name;
        self
    }

    /// What a key must look like beyond what every key does; anything goes if not given. Another one is 400.
    pub fn key_format(mut self, format: KeyFormat) -> Self {
        self.defaults.key_format = format;
        self
    }

    /// The status of the answer to a key that another request used: 422, 409 or 400. If not given, 422, or 400 in
    /// [Stripe's shape](ErrorShape::stripe).
    pub fn mismatch(mut self, status: StatusCode) -> Self {
        self.mismatch = Some(status);
        self
    }

    /// Whether a request with a known key is compared with the first; `true` if not given. Without the comparison it is
    /// given the first one's answer, whatever it asks for.
    pub fn fingerprint(mut self, on: bool) -> Self {
        self.defaults.compares = on;
        self
    }

    /// Headers of an answer that are stored and replayed beside the fixed list: `content-type`, `content-encoding`,
    /// `content-language`, `content-disposition`, `location`, `link`, `etag` and `last-modified`. None if not given.
    ///
    /// `build` refuses what must never be replayed: `set-cookie`, `date`, `content-length` and hop-by-hop fields
    /// (RFC 9110, 7.6.1).
    pub fn replay_headers(mut self, names: impl IntoIterator<Item = HeaderName>) -> Self {
        self.defaults.replay_headers = ReplayHeaders::Built(names.into_iter().collect());
        self
    }

    /// Largest body of an answer that is stored, 1 to 536 870 912 bytes (512 MiB); 1 048 576 (1 MiB) if not given. A
    /// larger one is a 500, and the run is rolled back.
    pub fn max_response(mut self, bytes: usize) -> Self {
        self.defaults.max_response = bytes;
        self
    }

    /// The isolation level of the handlers' transactions, and of those that [`consume`](crate::Inbox::consume) begins; the
    /// pool's own if not given.
    pub fn isolation(mut self, level: Isolation) -> Self {
        self.defaults.isolation = Some(level);
        self
    }

    /// How long a handler may run, 1 s to 24 h, and never longer than its TTL; 60 s if not given. Then its future is
    /// dropped, its transaction rolled back, and the answer is 503.
    ///
    /// PostgreSQL is told as well: 5 s later it ends a statement that still runs, and a transaction that sits idle.
    pub fn run_limit(mut self, limit: Duration) -> Self {
        self.defaults.run_limit = limit;
        self
    }

    /// How long a request waits for a pooled connection, or behind a duplicate that does, and for the database to
    /// reserve its key; longer than zero, at most 24 h, 5 s if not given. Then the answer is 503. A consumer of messages
    /// waits as long for its connection.
    pub fn acquire_timeout(mut self, limit: Duration) -> Self {
        self.http.acquire_timeout = limit;
        self
    }

    /// The URI that the `type` of every problem body begins with (RFC 9457, 3.1.1); it identifies the problem, so it
    /// must not change once clients know it. `https://idempotency.example/problems/` if not given.
    pub fn problem_base(mut self, base: impl Into<String>) -> Self {
        self.http.wording.base = base.into();
        self
    }

    /// How the library's own errors look; [problem details](ErrorShape::problem) if not given.
    pub fn error_shape(mut self, shape: ErrorShape) -> Self {
        self.http.wording.shape = shape;
        self
    }

    /// The page that tells clients how the API uses their keys. Every error of the library then links to it:
    /// `Link: <uri>; rel="describedby"; type="text/html"` (draft-ietf-httpapi-idempotency-key-header-07, section 2.7).
    pub fn documentation(mut self, uri: impl Into<String>) -> Self {
        self.http.wording.documentation = Some(uri.into());
        self
    }

    /// The header that marks a replay, `true`; `Idempotent-Replayed` if not given. An answer of a handler never passes
    /// one on.
    ///
    /// `build` refuses headers that mean something else: those that are kept, configured or not, or never replayed
    /// ([`replay_headers`](Self::replay_headers)), the key's own, and common ones such as `retry-after`.
    pub fn replay_marker(mut self, name: HeaderName) -> Self {
        self.http.marker.name = name;
        self
    }

    /// Whether a handler's own answer to a request with a key says `false` in the header that marks a replay; without
    /// it, the default, that header is on replays alone.
    pub fn mark_first_answers(mut self, on: bool) -> Self {
        self.http.marker.is_on_first = on;
        self
    }

    /// Whether the engine's answers to a request with a key, the handler's and its own, repeat the key in the field that
    /// it came in, bare where it can be read back so, else quoted. If not given, `false`, since keys end up in logs, or
    /// `true` in [Stripe's shape](ErrorShape::stripe).
    pub fn echo_key(mut self, on: bool) -> Self {
        self.http.echoes_key = Some(on);
        self
    }

    /// The table of the key rows, `table` or `schema.table`; `idempotency_keys` in the schema `public` (PostgreSQL) or
    /// `main` (SQLite) if not given. Each part is of ASCII letters, digits and `_`, at most 52 bytes long.
    pub fn table(mut self, name: impl Into<String>) -> Self {
        self.table = name.into();
        self
    }

    /// Whether PostgreSQL's advisory locks tell a duplicate of another process that the first still runs; `true` if
    /// not given. Without them the duplicate waits up to 100 ms for the row instead. For servers that speak
    /// PostgreSQL's protocol but have no such locks. No effect on SQLite.
    pub fn advisory_locks(mut self, on: bool) -> Self {
        self.advisory_locks = on;
        self
    }

    /// Whether the completing statement compares the row's `xmin` with the transaction; `true` if not given. Without
    /// it, a setting that is local to the transaction is compared. For servers that have no `xmin`. No effect on
    /// SQLite.
    pub fn xmin_check(mut self, on: bool) -> Self {
        self.xmin_check = on;
        self
    }

    /// Whether the engine's statements are prepared on PostgreSQL by name, for the connection to keep; `true` if not
    /// given. Off, they go without a name, each in a transaction, which costs messages. No effect on SQLite.
    ///
    /// For a pooler in transaction mode that knows no prepared statements: PgBouncer before 1.21, or with
    /// `max_prepared_statements = 0`. The application's own statements have to do likewise, by sqlx's
    /// [`persistent(false)`](sqlx::query::Query::persistent) and within transactions: `docs/architecture.md` has a
    /// section on poolers.
    pub fn prepared_statements(mut self, on: bool) -> Self {
        self.prepared_statements = on;
        self
    }

    /// Makes the engine. Does no I/O: see [`Idempotency::migrate`] and [`Idempotency::check`].
    ///
    /// # Errors
    /// [`BuildError`], which names the setting that is out of its range.
    pub fn build(mut self) -> Result<Idempotency<DB>, BuildError> {
        let wording = &self.http.wording;
        self.defaults.mismatch = self.mismatch.unwrap_or_else(|| wording.shape.mismatch());
        let table = Table::parse(&self.table, DB::DEFAULT_SCHEMA).map_err(BuildError::Table)?;
        if !(Duration::from_secs(1)..=LONGEST).contains(&self.defaults.run_limit) {
            return Err(BuildError::RunLimit);
        }
        if self.http.acquire_timeout.is_zero() || self.http.acquire_timeout > LONGEST {
            return Err(BuildError::AcquireTimeout);
        }
        if let ReplayHeaders::Built(names) = &self.defaults.replay_headers
            && let Some(name) = names.iter().find(|name| !replay::replayable(name))
        {
            return Err(BuildError::ReplayHeader(name.clone()));
        }
        if !(1..=LARGEST_RESPONSE).contains(&self.defaults.max_response) {
            return Err(BuildError::MaxResponse);
        }
        if ![400, 409, 422].contains(&self.defaults.mismatch.as_u16()) {
            return Err(BuildError::Mismatch(self.defaults.mismatch));
        }
        let base = &wording.base;
        if base.is_empty() || !base.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BuildError::ProblemBase);
        }
        let marker = &self.http.marker;
        if !marker.is_free(&self.defaults.replay_headers) || marker.name == self.defaults.header {
            return Err(BuildError::ReplayMarker(self.http.marker.name));
        }
        if wording.documentation.as_deref().is_some_and(|uri| describedby(uri).is_none()) {
            return Err(BuildError::Documentation);
        }
        let settings = Settings {
            table,
            advisory_locks: self.advisory_locks,
            xmin_check: self.xmin_check,
            prepared_statements: self.prepared_statements,
        };
        if !self.http.is_enabled {
            tracing::warn!(
                "the idempotency engine is off: handlers run for every request, and no key protects them"
            );
        }
        crate::observed::describe();
        Ok(Idempotency::new(
            self.pools,
            settings,
            self.http,
            self.defaults,
            #[cfg(feature = "axum")]
            self.wrapper,
        ))
    }
}
