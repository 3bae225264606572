use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};
use idem_runtime::{Idempotency, Inert};
use sqlx::Pool;
use tokio::sync::Notify;

use super::books::Books;
use super::calls::Calls;
use super::pause::{self, Pause};
use super::{orders, queued};

/// What an annotated handler reaches beside its transaction: none of it writes to the database.
#[derive(Clone, Debug, Inert)]
pub(super) struct Outside {
    pub(super) calls: Calls,
    pub(super) pause: Pause,
    /// Tells the dispatcher of this process to look into the outbox.
    #[inert(trusted)]
    pub(super) wake: Arc<Notify>,
}

/// The router's state.
pub(super) struct App<DB: Books> {
    pub(super) idempotency: Idempotency<DB>,
    pub(super) reader: Pool<DB>,
    pub(super) outside: Outside,
}

impl<DB: Books> Clone for App<DB> {
    fn clone(&self) -> Self {
        Self {
            idempotency: self.idempotency.clone(),
            reader: self.reader.clone(),
            outside: self.outside.clone(),
        }
    }
}

impl<DB: Books> FromRef<App<DB>> for Idempotency<DB> {
    fn from_ref(app: &App<DB>) -> Self {
        app.idempotency.clone()
    }
}

impl<DB: Books> FromRef<App<DB>> for Outside {
    fn from_ref(app: &App<DB>) -> Self {
        app.outside.clone()
    }
}

impl<DB: Books> FromRef<App<DB>> for Pause {
    fn from_ref(app: &App<DB>) -> Self {
        app.outside.pause.clone()
    }
}

pub(super) fn routes<DB: Books>(app: App<DB>) -> Router {
    Router::new()
        .route("/orders", post(orders::create_order::<DB>))
        .route("/orders/queued", post(queued::queue_order::<DB>))
        .route("/orders/{id}", get(orders::get_order::<DB>))
        .route("/pause", get(pause::reached).post(pause::go_on))
        .with_state(app)
}
