use std::error::Error;
use std::future::{Future, IntoFuture as _};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use idem_runtime::{Idempotency, SqlitePools};
use sqlx::postgres::PgPoolOptions;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::app::{App, routes};
use super::database::{Database, create_tables};
use super::probe::Probe;
use super::stripe::{stripe_engine, stripe_routes};

/// How long the last answers may take once the handlers are done.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What [`serve`] ends with.
pub type Served = Result<(), Box<dyn Error + Send + Sync>>;

/// Serves the reference application on the database at `url` until `stop` resolves, then lets the running
/// requests finish for as long as `drain_limit`, and drops the rest.
///
/// `url` is `postgres://…` or `sqlite://path`; the tables are created where they are missing. `started` is
/// told the address that `listener` listens on.
///
/// # Errors
/// If the database cannot be reached or prepared, or the listener fails.
///
/// # Cancel safety
/// Not cancel safe: dropped, it cuts the running requests off from their clients; their work is completed
/// or rolled back all the same.
pub async fn serve(
    url: &str,
    listener: TcpListener,
    started: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
    drain_limit: Duration,
) -> Served {
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        let pool = PgPoolOptions::new().connect(url).await?;
        let idempotency = Idempotency::builder(pool.clone()).build()?;
        let stripe = stripe_engine(Idempotency::builder(pool.clone())).build()?;
        let app = App { idempotency, writer: pool.clone(), reader: pool, probe: Probe::default() };
        run(app, stripe, listener, started, stop, drain_limit).await
    } else {
        let pools = SqlitePools::connect(&with_creation(url)).await?;
        let (writer, reader) = (pools.writer().clone(), pools.reader().clone());
        let stripe = stripe_engine(Idempotency::builder(pools.clone())).build()?;
        let idempotency = Idempotency::builder(pools).build()?;
        let app = App { idempotency, writer, reader, probe: Probe::default() };
        run(app, stripe, listener, started, stop, drain_limit).await
    }
}

/// The SQLite URL with the file created if it is missing, unless the URL says otherwise.
fn with_creation(url: &str) -> String {
    if url.contains('?') { url.to_owned() } else { format!("{url}?mode=rwc") }
}

async fn run<DB: Database>(
    app: App<DB>,
    stripe: Idempotency<DB>,
    listener: TcpListener,
    started: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
    drain_limit: Duration,
) -> Served {
    app.idempotency.migrate().await?;
    create_tables(&app.writer).await?;

    started(listener.local_addr()?);
    let idempotency = app.idempotency.clone();
    let router = routes().merge(stripe_routes(stripe.clone())).with_state(app);
    let (stopping, stopped) = oneshot::channel();
    let stop = async move {
        stop.await;
        // Nobody listens if the server has failed meanwhile.
        let _ = stopping.send(());
    };
    let serving = axum::serve(listener, router).with_graceful_shutdown(stop);

    // Both at once: the server waits for its connections without a limit, and for no handler whose client has left.
    let mut serving = pin!(serving.into_future());
    let mut drained = pin!(async {
        if stopped.await.is_ok() {
            tokio::join!(idempotency.drain(drain_limit), stripe.drain(drain_limit));
        }
    });
    tokio::select! {
        ended = &mut serving => {
            ended?;
            drained.await;
        }
        // What is left are answers on their way, and clients that never finished what they had to say.
        () = &mut drained => drop(timeout(LAST_ANSWERS, serving).await),
    }
    Ok(())
}
