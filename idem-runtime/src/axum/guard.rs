//! The guard: the first argument of every annotated handler.

use std::fmt;

use axum::body::Body;
use axum::extract::{FromRef, FromRequestParts, MatchedPath, OriginalUri};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderValue, Method};

use crate::admission::{Call, Seen};
use crate::idempotency::Idempotency;
use crate::key::IdempotencyKey;
use crate::options::Options;
use crate::policy::{FromPolicyParts, NoPolicy, Policy};
use crate::problem::{Problem, Terms, Wording};
use crate::store::Store;

/// What `#[idempotent]` puts in place of the transaction: it sees the request's key, method, route and path before
/// the handler's own extractors run, and holds neither connection nor lock.
///
/// It stands in the signature of every annotated handler, and an application needs it only to call such a handler in a
/// unit test: see [`Idempotency::guard`].
pub struct Guard<DB: Store, P = NoPolicy> {
    engine: Idempotency<DB>,
    policy: P,
    seen: Seen,
}

impl<DB: Store, P> Guard<DB, P> {
    /// The policy with the fields that were extracted for it, for an operation by hand.
    #[must_use]
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// As if the request had come by `method` for a route that matched as `route` and for the path of that name;
    /// `POST /` if not given.
    #[must_use]
    pub fn on(mut self, method: Method, route: &str) -> Self {
        self.seen.method = method;
        route.clone_into(&mut self.seen.path);
        self.seen.route = Some(route.to_owned());
        self
    }
}

/// Begins to collect what the fingerprint and the scope are made of. Gives the policy as well, to be lent.
// A function, whose type argument is named: a type that is no policy is reported there.
#[doc(hidden)]
#[must_use]
pub fn begin<DB: Store, P: Policy>(guard: Guard<DB, P>, options: Options) -> (Call<DB>, P) {
    let Guard { engine, policy, seen } = guard;
    let rules = options.over(P::OPTIONS).rules(&engine.0.defaults);
    let mut call = Call::new(engine.0, rules, seen);
    policy.describe(&mut call);
    (call, policy)
}

impl<DB: Store> Idempotency<DB> {
    /// A guard for calling an annotated handler directly, as a unit test does.
    ///
    /// ```
    /// # #[cfg(feature = "postgres")] mod example {
    /// use axum::response::Response;
    /// use idem_runtime::{Idempotency, IdempotencyKey, KeyError, NoPolicy, idempotent};
    /// use sqlx::{PgConnection, Postgres};
    ///
    /// #[idempotent(scope = "endpoint")]
    /// async fn ping(tx: &mut PgConnection, body: String) -> String {
    ///     body
    /// }
    ///
    /// async fn pinged(idempotency: &Idempotency<Postgres>) -> Result<Response, KeyError> {
    ///     let key = IdempotencyKey::new("k-1")?;
    ///     Ok(ping(idempotency.guard(key, NoPolicy), "hello".to_owned()).await)
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn guard<P: Policy>(&self, key: IdempotencyKey, policy: P) -> Guard<DB, P> {
        let seen = Seen {
            method: Method::POST,
            path: "/".to_owned(),
            route: Some("/".to_owned()),
            key: Ok(Some(key)),
            syntax: P::OPTIONS.syntax_or(self.0.defaults.syntax),
        };
        Guard { engine: self.clone(), policy, seen }
    }
}

/// A router state that holds an engine for `DB`.
#[diagnostic::on_unimplemented(
    message = "the router's state `{Self}` does not hold an `Idempotency<{DB}>`",
    label = "this state has no engine for the handler's database",
    note = "implement `axum::extract::FromRef<{Self}>` for `idem_runtime::Idempotency<{DB}>`, or derive `FromRef` on the state"
)]
pub trait HasEngine<DB: Store> {
    /// The engine.
    #[doc(hidden)]
    fn engine(&self) -> Idempotency<DB>;
}

#[diagnostic::do_not_recommend]
impl<DB: Store, S> HasEngine<DB> for S
where
    Idempotency<DB>: FromRef<S>,
{
    fn engine(&self) -> Idempotency<DB> {
        Idempotency::from_ref(self)
    }
}

/// An application that shares its state behind an `Arc` cannot write this itself: both types are foreign to it.
impl<DB: Store, S> FromRef<std::sync::Arc<S>> for Idempotency<DB>
where
    Idempotency<DB>: FromRef<S>,
{
    fn from_ref(state: &std::sync::Arc<S>) -> Self {
        Self::from_ref(&**state)
    }
}

/// Where a guard finds the engine.
#[doc(hidden)]
pub trait FindEngine<DB: Store, S> {
    /// The engine; `None` if there is none, which the state's type rules out.
    fn find(parts: &Parts, state: &S) -> Option<Idempotency<DB>>;
}

/// In the router's state: the default.
#[doc(hidden)]
#[derive(Debug)]
pub struct FromState;

impl<DB: Store, S: HasEngine<DB>> FindEngine<DB, S> for FromState {
    fn find(_: &Parts, state: &S) -> Option<Idempotency<DB>> {
        Some(state.engine())
    }
}

/// In the request's extensions, where `axum::Extension` as a layer puts it: `engine = "extension"`.
#[doc(hidden)]
#[derive(Debug)]
pub struct FromExtension;

#[diagnostic::do_not_recommend]
impl<DB: Store, S> FindEngine<DB, S> for FromExtension {
    fn find(parts: &Parts, _: &S) -> Option<Idempotency<DB>> {
        parts.extensions.get::<Idempotency<DB>>().cloned()
    }
}

/// A request whose extensions hold no engine.
fn without_engine() -> Response {
    tracing::error!(
        "a policy says `engine = \"extension\"`, and the request's extensions hold no engine: add the layer \
         `axum::Extension(idempotency)`"
    );
    Problem::StoreMisconfigured.response(&Wording::default(), &Terms::default(), None).map(Body::from)
}

impl<DB, P, S> FromRequestParts<S> for Guard<DB, P>
where
    DB: Store,
    P: FromPolicyParts<S>,
    P::Engine: FindEngine<DB, S>,
    S: Send + Sync,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let policy = P::from_policy_parts(parts, state).await?;
        let engine = P::Engine::find(parts, state).ok_or_else(without_engine)?;
        let defaults = &engine.0.defaults;
        let uri = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |original| &original.0);
        let header = P::OPTIONS.header_name(defaults);
        let fields = parts.headers.get_all(header).iter().map(HeaderValue::as_bytes);
        let syntax = P::OPTIONS.syntax_or(defaults.syntax);
        let seen = Seen {
            method: parts.method.clone(),
            path: uri.path().to_owned(),
            route: parts.extensions.get::<MatchedPath>().map(|route| route.as_str().to_owned()),
            key: IdempotencyKey::from_fields(fields, syntax),
            syntax,
        };
        Ok(Self { engine, policy, seen })
    }
}

impl<DB: Store, P> fmt::Debug for Guard<DB, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}
