//! Serves the refunds on SQLite, in a temporary directory: `cargo run -p refunds-service`.

use std::error::Error;
use std::time::Duration;

use idem_runtime::{Idempotency, SqlitePools};
use sqlx::sqlite::SqliteConnectOptions;
use tokio::net::TcpListener;

/// How long a shutdown waits for the handlers that still run.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::var("PORT").map_or(Ok(3002), |port| port.parse::<u16>())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;

    let directory = std::env::temp_dir().join(format!("refunds-service-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let database = SqliteConnectOptions::new().filename(directory.join("refunds.db")).create_if_missing(true);
    let pools = SqlitePools::connect_with(database).await?;
    refunds_service::create_tables(pools.writer()).await?;

    let idempotency = Idempotency::builder(pools).build()?;
    idempotency.migrate().await?;

    println!(
        r#"Listening on http://{address}. Try, in another terminal, once and once more:

curl -i http://{address}/refunds -H 'X-Tenant: t1' -H 'Idempotency-Key: "k-1"' \
     -H 'Content-Type: application/json' -d '{{"order_id":1,"cents":250}}'"#
    );

    let draining = idempotency.clone();
    let stop = async move {
        drop(tokio::signal::ctrl_c().await);
        // While the server stops: it waits for its clients without a limit, and for no handler whose client has left.
        tokio::spawn(async move { draining.drain(DRAIN_LIMIT).await });
    };
    axum::serve(listener, refunds_service::router(idempotency.clone())).with_graceful_shutdown(stop).await?;

    idempotency.drain(DRAIN_LIMIT).await;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}
