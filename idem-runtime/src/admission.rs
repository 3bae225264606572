//! Before anything has begun: a request is judged, waits behind a duplicate, and takes a connection.
//!
//! All of it happens in the request's own future and ends with it when the client leaves.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;

use crate::answer::Answer;
use crate::engine::{Keyed, Run};
use crate::execution::Execution;
use crate::fingerprint::{Fingerprint, Fingerprinter, Target};
use crate::held::Held;
use crate::idempotency::Inner;
use crate::in_process::Attempt;
use crate::key::{IdempotencyKey, KeyError, Syntax};
use crate::key_value::KeyValue;
use crate::observed::{Endpoint, Observed, Step, Timer};
use crate::options::Rules;
use crate::problem::{KeyPlace, Problem};
use crate::reply::Reply;
use crate::scope::{Scope, ScopeError, ScopeValue};
use crate::store::{Address, KeyRequest, Store, shown};
use crate::turn::Turn;
use crate::waiting::Patience;

/// What the guard saw of a request before the handler's extractors took it apart.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// The path as the client sent it, nesting prefixes included.
    pub(crate) path: String,
    /// The route that matched, nesting prefixes included; a fallback has none.
    pub(crate) route: Option<String>,
    /// What the key's header field holds; judged once the handler's extractors have had their say.
    pub(crate) key: Result<Option<IdempotencyKey>, KeyError>,
    /// How the key's header field is read.
    pub(crate) syntax: Syntax,
}

/// One request on its way in: what the expansion collects before the key is judged.
#[doc(hidden)]
pub struct Call<DB: Store> {
    engine: Arc<Inner<DB>>,
    rules: Rules,
    seen: Seen,
    fingerprinter: Fingerprinter,
    scope: Result<Scope, ScopeError>,
}

/// Whether a request goes on to the database.
#[derive(Debug)]
pub(crate) enum Admitted<DB: Store> {
    /// It does, on this connection.
    Run(Run<DB>, Held<DB>),
    /// It is answered.
    Done(Answer),
}

impl<DB: Store> Call<DB> {
    pub(crate) fn new(engine: Arc<Inner<DB>>, rules: Rules, seen: Seen) -> Self {
        let fingerprinter = if rules.compares {
            let target = rules.endpoint.map_or(Target::Path(&seen.path), Target::Name);
            Fingerprinter::new(seen.method.as_str(), target)
        } else {
            Fingerprinter::off()
        };
        // A name that is empty would be one for all who forget it.
        let is_nameless = rules.endpoint.is_some_and(str::is_empty);
        let scope = if is_nameless { Scope::new().endpoint_named("") } else { Ok(Scope::new()) };
        Self { engine, rules, seen, fingerprinter, scope }
    }

    /// The rules, for an operation that is described by hand.
    pub(crate) fn rules(&mut self) -> &mut Rules {
        &mut self.rules
    }

    /// Adds an argument to the fingerprint.
    pub fn fingerprint<T: Fingerprint>(&mut self, argument: &T) {
        argument.fingerprint(&mut self.fingerprinter);
    }

    /// What the argument's own hash function adds to.
    pub fn fingerprinter(&mut self) -> &mut Fingerprinter {
        &mut self.fingerprinter
    }

    /// Takes the key from the request's content instead of its header.
    pub fn key<T: KeyValue + ?Sized>(&mut self, value: &T) {
        self.rules.terms.key = KeyPlace::Content;
        self.seen.key = value.key_value().map(IdempotencyKey::new).transpose();
    }

    /// Adds a part to the scope.
    pub fn scope<T: ScopeValue + ?Sized>(&mut self, label: &'static str, value: &T) {
        self.extend_scope(|scope| scope.with(label, value));
    }

    /// Adds the endpoint's name to the scope, or else the method and the matched route.
    pub fn endpoint(&mut self) {
        if let Some(name) = self.rules.endpoint {
            return self.extend_scope(|scope| scope.endpoint_named(name));
        }
        let method = self.seen.method.clone();
        let route = self.seen.route.clone();
        self.extend_scope(|scope| scope.endpoint(method.as_str(), route.as_deref().unwrap_or_default()));
    }

    /// Makes the scope the one that all requests share.
    pub fn global(&mut self) {
        self.extend_scope(
            |scope| if scope.is_empty() { Ok(Scope::global()) } else { Err(ScopeError::NotAlone) },
        );
    }

    fn extend_scope(&mut self, extend: impl FnOnce(Scope) -> Result<Scope, ScopeError>) {
        let scope = std::mem::replace(&mut self.scope, Ok(Scope::new()));
        self.scope = scope.and_then(extend);
    }

    /// What of the request shows in its answer.
    pub(crate) fn reply(&self) -> Reply<DB> {
        let is_looked_at = self.engine.http.is_enabled && !self.seen.method.is_safe();
        let key = self.seen.key.as_ref().ok().and_then(Option::as_ref);
        let key = key.filter(|key| is_looked_at && self.rules.key_format.accepts(key));
        Reply::new(Arc::clone(&self.engine), self.rules.terms.clone(), key, self.seen.syntax)
    }

    /// The request as an operator sees it: nobody watches one whose method is safe.
    pub(crate) fn observe(&self) -> Observed {
        if self.seen.method.is_safe() {
            return Observed::default();
        }
        Observed::begin(match (self.rules.endpoint, &self.seen.route) {
            (Some(name), _) => Endpoint::Named(name),
            (None, Some(route)) => Endpoint::Route(&self.seen.method, route),
            (None, None) => Endpoint::Unmatched,
        })
    }

    /// Judges the key, waits for a duplicate's attempt, and takes a connection.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing has begun, and those who wait behind this request go on without it.
    pub(crate) fn admit(self, mut observed: Observed) -> Pin<Box<dyn Future<Output = Admitted<DB>> + Send>> {
        Box::pin(async move {
            match self.try_admit(&mut observed).await {
                Ok((mut run, held)) => {
                    run.observed = observed;
                    Admitted::Run(run, held)
                }
                Err(answer) => {
                    observed.answered(&answer);
                    Admitted::Done(answer)
                }
            }
        })
    }

    /// The run is not observed yet.
    async fn try_admit(mut self, observed: &mut Observed) -> Result<(Run<DB>, Held<DB>), Answer> {
        // RFC 9110, 9.2.1: nothing to protect, so nothing is stored.
        if self.seen.method.is_safe() {
            return Ok(self.admit_without_key(observed).await?);
        }
        if !self.engine.http.is_enabled {
            if !matches!(self.seen.key, Ok(None)) {
                tracing::warn!(
                    route = self.seen.route,
                    "a request with an idempotency key is not protected: the engine is off"
                );
            }
            return Ok(self.admit_without_key(observed).await?);
        }
        let Some(key) = self.take_key()? else {
            // For those who count, before they require a key, how many clients send none.
            tracing::debug!(route = self.seen.route, "a request without an idempotency key is not protected");
            return Ok(self.admit_without_key(observed).await?);
        };
        let engine = Arc::clone(&self.engine);
        let token = engine.tasks.admit().ok_or(Problem::StoreUnavailable)?;
        let patience = Patience::begin(&engine, &self.rules);
        let (rules, request, execution) = self.judge(key)?;
        observed.keyed(&request.address);

        let mut claim = engine.enter(&request, patience, observed).await?;
        match engine.connection(observed).await {
            Ok(held) => {
                let keyed = Some(Keyed { request, claim });
                let turn = patience.for_run().map(|until| Box::new(Turn::new(until)));
                let (token, observed) = (Some(token), Observed::default());
                Ok((Run { engine, rules, keyed, execution, turn, token, observed }, held))
            }
            Err(problem) => {
                claim.leave(Attempt::Failed(problem));
                Err(problem.into())
            }
        }
    }

    /// In a plain transaction, nothing reserved and nothing stored.
    async fn admit_without_key(self, observed: &Observed) -> Result<(Run<DB>, Held<DB>), Problem> {
        let Self { engine, rules, scope, .. } = self;
        let held = engine.connection(observed).await?;
        let token = engine.tasks.admit();
        let execution = Box::new(Execution::new(scope.unwrap_or_default(), None));
        let (rules, observed) = (Arc::new(rules), Observed::default());
        Ok((Run { engine, rules, keyed: None, execution, turn: None, token, observed }, held))
    }

    /// The key; `None` if there is none and need not be.
    fn take_key(&mut self) -> Result<Option<IdempotencyKey>, Problem> {
        let key = std::mem::replace(&mut self.seen.key, Ok(None)).map_err(Problem::KeyInvalid)?;
        match key {
            Some(key) if self.rules.key_format.accepts(&key) => Ok(Some(key)),
            Some(_) => Err(Problem::KeyInvalid(KeyError::Format)),
            None if self.rules.required => Err(Problem::KeyMissing),
            None => Ok(None),
        }
    }

    /// The scope and then the fingerprint: what a client can do something about was judged before.
    fn judge(self, key: IdempotencyKey) -> Result<(Arc<Rules>, KeyRequest, Box<Execution>), Problem> {
        let scope = self.scope.map_err(|error| {
            tracing::error!(%error, route = self.seen.route, "the scope of a request cannot be resolved");
            Problem::ScopeUnresolved
        })?;
        if scope.is_empty() {
            tracing::error!(route = self.seen.route, "the scope of a request has no parts");
            return Err(Problem::ScopeUnresolved);
        }
        let fingerprint = self.fingerprinter.finish().map_err(|error| {
            tracing::error!(%error, route = self.seen.route, "a request cannot be fingerprinted");
            // Its source may name members of the request.
            tracing::debug!(?error, "an input without a canonical form in full");
            Problem::FingerprintFailed
        })?;
        let request = KeyRequest {
            address: Address::new(&self.engine.settings.table, &scope, &key),
            fingerprint,
            ttl_secs: self.rules.ttl_secs,
            run_limit: self.rules.run_limit(),
        };
        Ok((Arc::new(self.rules), request, Box::new(Execution::new(scope, Some(key)))))
    }
}

impl<DB: Store> Inner<DB> {
    pub(crate) async fn connection(&self, observed: &Observed) -> Result<Held<DB>, Problem> {
        let timer = Timer::start();
        let acquired = self.acquire().await;
        observed.took(Step::Acquire, timer);
        let mut held = acquired?;
        // Nothing has begun, so the answer need not be that nobody knows.
        if self.tasks.are_stopped() {
            held.release().await;
            return Err(Problem::StoreUnavailable);
        }
        Ok(held)
    }

    async fn acquire(&self) -> Result<Held<DB>, Problem> {
        self.take_connection().await.map_err(|error| {
            if matches!(error, sqlx::Error::PoolTimedOut) {
                tracing::warn!("no pooled connection within the acquire time-out");
            } else {
                tracing::error!(error = %shown(&error), "no connection for a request with an idempotency key");
            }
            Problem::StoreUnavailable
        })
    }
}

impl<DB: Store> std::fmt::Debug for Call<DB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the path, which may hold the key, or who has it.
        f.debug_struct("Call")
            .field("method", &self.seen.method)
            .field("route", &self.seen.route)
            .finish_non_exhaustive()
    }
}
