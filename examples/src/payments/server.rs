use std::env;
use std::error::Error;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use idem_runtime::{Idempotency, SqlitePools};
use sqlx::Pool;
use sqlx::postgres::PgPoolOptions;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::app::{App, Outside, routes};
use super::books::Books;
use super::calls::Calls;
use super::dispatcher::dispatch;
use super::pause::{Moment, Pause};

/// How long a shutdown waits for the handlers that still run.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

/// How much longer a call is claimed than it may take.
const LEASE_MARGIN: Duration = Duration::from_secs(1);

/// What [`serve`] ends with.
pub type Served<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// How the service is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `postgres://…` or `sqlite://path`; the tables are created where they are missing.
    pub database_url: String,
    /// Where the provider is: `http://127.0.0.1:4000`.
    pub provider_url: String,
    /// Where the mail service is.
    pub mail_url: String,
    /// How long a call to either may take.
    pub call_limit: Duration,
    /// Where the service stands still, if anywhere.
    pub pause: Option<Moment>,
}

impl Settings {
    /// Reads `DATABASE_URL`, `PROVIDER_URL` and `MAIL_URL`, which must be there; `CALL_LIMIT_MS`, in milliseconds, 10 000
    /// if not set; `PAUSE_AT`, a [`Moment`], none if not set.
    ///
    /// # Errors
    /// If one is missing or cannot be read.
    pub fn from_env() -> Served<Self> {
        let var = |name: &str| env::var(name).map_err(|_| format!("{name} is not set"));
        let call_limit = optional::<u64>("CALL_LIMIT_MS")?.unwrap_or(10_000);
        Ok(Self {
            database_url: var("DATABASE_URL")?,
            provider_url: var("PROVIDER_URL")?,
            mail_url: var("MAIL_URL")?,
            call_limit: Duration::from_millis(call_limit),
            pause: optional("PAUSE_AT")?,
        })
    }
}

/// The value of an environment variable, if it is set.
fn optional<T: FromStr>(name: &str) -> Served<Option<T>>
where
    T::Err: Into<Box<dyn Error + Send + Sync>>,
{
    env::var(name).ok().map(|text| text.parse().map_err(Into::into)).transpose()
}

/// Serves the service and runs its dispatcher until `stop` resolves, then lets the running requests finish.
///
/// `started` is told the address that `listener` listens on.
///
/// # Errors
/// If the database cannot be reached or prepared, or the listener fails.
///
/// # Cancel safety
/// Not cancel safe: dropped, it cuts the running requests off from their clients; their work is completed or rolled
/// back all the same.
pub async fn serve(
    settings: Settings,
    listener: TcpListener,
    started: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Served {
    let url = &settings.database_url;
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        let pool = PgPoolOptions::new().connect(url).await?;
        let idempotency = Idempotency::builder(pool.clone()).build()?;
        run(settings, idempotency, pool.clone(), pool, listener, started, stop).await
    } else {
        let pools = SqlitePools::connect(&format!("{url}?mode=rwc")).await?;
        let idempotency = Idempotency::builder(pools.clone()).build()?;
        let (writer, reader) = (pools.writer().clone(), pools.reader().clone());
        run(settings, idempotency, writer, reader, listener, started, stop).await
    }
}

async fn run<DB: Books>(
    settings: Settings,
    idempotency: Idempotency<DB>,
    writer: Pool<DB>,
    reader: Pool<DB>,
    listener: TcpListener,
    started: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Served {
    idempotency.migrate().await?;
    DB::create_tables(&writer).await?;

    let calls = Calls::new(settings.provider_url, settings.mail_url, settings.call_limit)?;
    let outside = Outside { calls, pause: Pause::at(settings.pause), wake: Arc::new(Notify::new()) };
    let lease = settings.call_limit + LEASE_MARGIN;
    let dispatcher = tokio::spawn(dispatch(writer, outside.clone(), lease));

    started(listener.local_addr()?);
    let draining = idempotency.clone();
    let stop = async move {
        stop.await;
        // While the server stops: it waits for its clients without a limit, and for no handler whose client has left.
        tokio::spawn(async move { draining.drain(DRAIN_LIMIT).await });
    };
    let app = App { idempotency: idempotency.clone(), reader, outside };
    axum::serve(listener, routes(app)).with_graceful_shutdown(stop).await?;
    idempotency.drain(DRAIN_LIMIT).await;
    // Wherever it is, the next process goes on from there.
    dispatcher.abort();
    Ok(())
}
