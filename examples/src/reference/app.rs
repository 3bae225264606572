use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{delete, get, post, put};
use idem_runtime::Idempotency;
use sqlx::Pool;

use super::database::Database;
use super::probe::Probe;
use super::{accounts, control, failures, orders, shapes, things};

/// The router's state.
#[derive(Debug)]
pub struct App<DB: Database> {
    /// The engine that the attribute finds through [`FromRef`].
    pub idempotency: Idempotency<DB>,
    /// Where a handler without the attribute writes.
    pub writer: Pool<DB>,
    /// Where a handler without the attribute reads.
    pub reader: Pool<DB>,
    /// What the handlers report, and the gate that some of them wait at.
    pub probe: Probe,
}

impl<DB: Database> Clone for App<DB> {
    fn clone(&self) -> Self {
        Self {
            idempotency: self.idempotency.clone(),
            writer: self.writer.clone(),
            reader: self.reader.clone(),
            probe: self.probe.clone(),
        }
    }
}

impl<DB: Database> FromRef<App<DB>> for Idempotency<DB> {
    fn from_ref(app: &App<DB>) -> Self {
        app.idempotency.clone()
    }
}

impl<DB: Database> FromRef<App<DB>> for Probe {
    fn from_ref(app: &App<DB>) -> Self {
        app.probe.clone()
    }
}

// The same state behind an `Arc`, as many applications keep it. The engine's own impl for `Arc<S>` comes
// with the library.
impl<DB: Database> FromRef<Arc<App<DB>>> for App<DB> {
    fn from_ref(app: &Arc<App<DB>>) -> Self {
        Self::clone(app)
    }
}

impl<DB: Database> FromRef<Arc<App<DB>>> for Probe {
    fn from_ref(app: &Arc<App<DB>>) -> Self {
        app.probe.clone()
    }
}

/// The application's routes, for any router state that holds its parts: [`App`] or an `Arc` of it.
pub fn routes<DB, S>() -> Router<S>
where
    DB: Database,
    S: Clone + Send + Sync + 'static,
    App<DB>: FromRef<S>,
    Idempotency<DB>: FromRef<S>,
    Probe: FromRef<S>,
{
    Router::new()
        .route("/orders", post(orders::create_order::<DB>).get(orders::list_orders::<DB>))
        .route("/refunds", post(orders::create_refund::<DB>))
        .route("/slow", post(orders::create_order_slowly::<DB>))
        .route("/plain", post(orders::create_order_unprotected::<DB>))
        .route("/declined", post(failures::decline::<DB>))
        .route("/err", post(failures::refuse::<DB>))
        .route("/boom", post(failures::fail::<DB>))
        .route("/panic", post(failures::panic::<DB>))
        .route("/empty", post(shapes::answer_nothing::<DB>))
        .route("/bytes", post(shapes::answer_bytes::<DB>))
        .route("/accounts/{id}/charges", post(accounts::charge::<DB>))
        .route("/counters/{id}", put(accounts::count::<DB>))
        .route(
            "/things",
            post(things::create_thing::<DB>)
                .patch(things::rename_things::<DB>)
                .get(things::count_things::<DB>),
        )
        .route("/things/{id}", delete(things::delete_thing::<DB>))
        .route("/gate", post(control::open_gate).get(control::await_arrivals))
        .route("/runs", get(control::runs))
}
