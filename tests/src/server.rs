//! A router served on a real socket.

use std::net::SocketAddr;

use axum::Router;
use idem_examples::reference::{App, Gate};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::database::TestDatabase;
use crate::http::{Answer, Pending, Request, open};
use crate::patience::soon;

/// A running server on a port of its own. Dropping it stops it from accepting connections.
#[derive(Debug)]
pub struct Server<DB: TestDatabase> {
    /// The router's state.
    pub app: App<DB>,
    /// Where it listens.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl<DB: TestDatabase> Server<DB> {
    /// Serves `router`.
    ///
    /// # Panics
    /// The future panics if no port is free.
    pub(crate) async fn start(app: App<DB>, router: Router) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("axum's server never ends by itself");
        });
        Self { app, address, task }
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Panics
    /// The future panics if there is none.
    pub async fn send(&self, request: &Request) -> Answer {
        self.open(request).await.answer().await
    }

    /// Sends a request again and again until it is no longer in progress.
    ///
    /// # Panics
    /// The future panics if it stays so.
    pub async fn retry(&self, request: &Request) -> Answer {
        soon(async {
            loop {
                let answer = self.send(request).await;
                if answer.status != 409 || answer.json()["code"] != "idempotency_in_progress" {
                    return answer;
                }
            }
        })
        .await
    }

    /// Sends a request without waiting for its answer.
    ///
    /// # Panics
    /// The future panics if the request cannot be sent.
    pub async fn open(&self, request: &Request) -> Pending {
        open(self.address, request).await
    }

    /// Sends `request` to a handler that waits at the gate, and waits until it is there.
    ///
    /// # Panics
    /// The future panics if it does not come there.
    pub async fn open_up_to_the_gate(&self, request: &Request) -> Pending {
        let already = self.gate().waiting();
        let pending = self.open(request).await;
        soon(self.gate().arrivals(already + 1)).await;
        pending
    }

    /// The gate that `POST /slow` waits at.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.app.probe.gate
    }

    /// How many handlers have begun to run.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.app.probe.runs()
    }

    /// Stops it, as the end of its process would: the socket and the pools are closed.
    pub async fn stop(self) {
        self.task.abort();
        self.app.writer.close().await;
        self.app.reader.close().await;
    }
}

impl<DB: TestDatabase> Drop for Server<DB> {
    fn drop(&mut self) {
        self.task.abort();
    }
}
