//! Money that moves while something goes wrong: `cargo run --example payments`.
//!
//! It tells its story on standard output and ends by itself. It needs no server and no set-up: the payment provider, a
//! mail service and a load balancer are part of it, the database is an SQLite file in a temporary directory, and the
//! service is this program once more, `payments serve`, in a process of its own, which is killed where it hurts.
//!
//! A handler calls out in one of three ways:
//!
//! - **In the transaction, with [`downstream_key`]** (`POST /orders`): where the caller has to know now whether it worked,
//!   the other side is quick and knows idempotency keys. A run that is rolled back has called all the same; the next run
//!   calls again with the same key, and the other side does nothing twice. Not covered: the transaction, its connection
//!   and its locks are held for as long as the call takes, so a slow provider uses up the pool, a call must end
//!   well before `run_limit`, and on SQLite nobody writes meanwhile; a caller that never retries leaves money without an
//!   order; a retry that comes when the provider has forgotten the key, after 24 hours say, charges again.
//! - **Written down in an outbox, made by a dispatcher** (`POST /orders/queued`): where "accepted" is answer enough.
//!   The call leaves after COMMIT and only then, with the key that is in its row, and nothing is held while it is made. Not
//!   covered: it is made at least once, so the other side has to know the key here as well; the caller has to ask, or be
//!   told, how it ended; and a call that has lain longer than the provider remembers needs a person.
//! - **After COMMIT, with [`after_commit`]** (the receipt of `POST /orders`): for what may be lost. Never for a run that is
//!   rolled back, never twice, and not at all if the process ends first.
//!
//! A provider that knows no keys: `docs/when-to-use.md`. All failures, one by one: `docs/calling-out.md`.
//!
//! `payments serve` takes its settings from the environment: `DATABASE_URL` (`postgres://…` or `sqlite://path`), `PORT` (0
//! for a free one), and what [`Settings::from_env`] reads.
//!
//! [`downstream_key`]: idem_runtime::Execution::downstream_key
//! [`after_commit`]: idem_runtime::Execution::after_commit

use std::env;

use idem_examples::payments::{Served, Settings, serve, tell};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> Served {
    match env::args().nth(1).as_deref() {
        // Stopped in the midst, it takes its service and its files along.
        None => {
            let mut terminated = signal(SignalKind::terminate())?;
            tokio::select! {
                told = tell() => told,
                _ = tokio::signal::ctrl_c() => Err("stopped".into()),
                _ = terminated.recv() => Err("stopped".into()),
            }
        }
        Some("serve") => serve_until_stopped().await,
        Some(other) => Err(format!("`{other}` is neither `serve` nor nothing").into()),
    }
}

/// Ctrl-C or SIGTERM ends it once the running requests have finished.
async fn serve_until_stopped() -> Served {
    let settings = Settings::from_env()?;
    let port = env::var("PORT").map_or(Ok(3000), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let mut terminated = signal(SignalKind::terminate())?;
    let stop = async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
        }
    };
    serve(settings, listener, |address| println!("listening on http://{address}"), stop).await
}
