//! `POST /v1/charges` as Stripe's own clients speak it: form fields, an API key, Stripe's error bodies.
//!
//! It has an engine of its own, which answers in Stripe's error shape, on the same pools as the rest.

mod account;
mod charges;
mod error;
mod params;

use axum::extract::FromRef;
use axum::routing::post;
use axum::{Extension, Router};
use idem_runtime::{Builder, ErrorShape, Idempotency, Policy};

use super::database::Database;
use super::probe::Probe;
use account::Account;

/// What Stripe promises of every POST (<https://docs.stripe.com/api/idempotent_requests>).
///
/// A key is unique within an account, whatever the operation; it may be left out; it is kept for a day at
/// least; and every answer of an operation that began is kept, failures included.
#[derive(Debug, Policy)]
#[policy(scope = "account", ttl = "24h", required = false, record = "all", engine = "extension")]
struct StripeApi {
    account: Account,
}

/// The settings of an engine for [`stripe_routes`].
pub fn stripe_engine<DB: Database>(builder: Builder<DB>) -> Builder<DB> {
    builder.error_shape(ErrorShape::stripe())
}

/// The routes that Stripe's clients use.
pub fn stripe_routes<DB, S>(idempotency: Idempotency<DB>) -> Router<S>
where
    DB: Database,
    S: Clone + Send + Sync + 'static,
    Probe: FromRef<S>,
{
    Router::new().route("/v1/charges", post(charges::create_charge::<DB>)).layer(Extension(idempotency))
}
