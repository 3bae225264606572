//! The reference application as a server, to point any client or test suite at.
//!
//! `DATABASE_URL` is `postgres://…` or `sqlite://path`, `PORT` the port on 127.0.0.1 (3000 if not set, 0 for
//! a free one). Ctrl-C or SIGTERM ends it once the running requests have finished, or after `DRAIN_SECS` seconds (30 if
//! not set).
//!
//! ```text
//! DATABASE_URL=sqlite://reference.db cargo run --example reference
//! ```

use std::env;
use std::time::Duration;

use idem_examples::reference::{Served, serve};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> Served {
    let url = env::var("DATABASE_URL").map_err(|_| "set DATABASE_URL to postgres://… or sqlite://path")?;
    let port = env::var("PORT").map_or(Ok(3000), |port| port.parse())?;
    let drain_limit = env::var("DRAIN_SECS").map_or(Ok(30), |seconds| seconds.parse())?;
    let drain_limit = Duration::from_secs(drain_limit);

    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let mut terminated = signal(SignalKind::terminate())?;
    let stop = async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
        }
    };
    let started = |address| println!("listening on http://{address}");
    serve(&url, listener, started, stop, drain_limit).await
}
