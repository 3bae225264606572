//! A service that is told of payments by two senders of webhooks: one signs as Stripe does, one as Standard Webhooks has
//! it.
//!
//! | route | is |
//! |---|---|
//! | `POST /webhooks/stripe` | what Stripe would deliver to: `payment_intent.succeeded` and `refund.created` count, other events are taken note of |
//! | `POST /webhooks/bank` | what a bank delivers to that follows Standard Webhooks: `payment.received` and `payment.returned` |
//! | `GET /invoices` | lists the invoices, and what was paid of each |
//!
//! [`Stripe`] and [`Standard`] are extractors that verify the signature; [`Secrets`] holds what the senders sign with.

mod payments;
mod secrets;
mod standard;
mod stripe;
mod unverified;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use idem_runtime::Idempotency;
use sqlx::{Sqlite, SqlitePool};

pub use payments::TABLES;
pub use secrets::{Secrets, unix_time};
pub use standard::Standard;
pub use stripe::Stripe;
pub use unverified::Unverified;

/// The router's state.
#[derive(Clone, Debug)]
pub struct App {
    /// What `#[idempotent]` finds through [`FromRef`].
    pub idempotency: Idempotency<Sqlite>,
    /// Where the list of invoices is read.
    pub reader: SqlitePool,
    /// What the extractors find through [`FromRef`].
    pub secrets: Secrets,
}

impl FromRef<App> for Idempotency<Sqlite> {
    fn from_ref(app: &App) -> Self {
        app.idempotency.clone()
    }
}

impl FromRef<App> for Secrets {
    fn from_ref(app: &App) -> Self {
        app.secrets.clone()
    }
}

/// The service.
pub fn router(app: App) -> Router {
    Router::new()
        // A route for each sender: two of them may choose the same id for two events.
        .route("/webhooks/stripe", post(payments::on_stripe_event))
        .route("/webhooks/bank", post(payments::on_bank_event))
        .route("/invoices", get(payments::list_invoices))
        .with_state(app)
}
