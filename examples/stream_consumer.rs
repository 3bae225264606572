//! Orders from a Redis stream, shipped once each however often they arrive:
//! `scripts/with-redis cargo run --example stream-consumer`.
//!
//! It adds three orders to the stream: one, one twice, as a producer does that was not told of the first time, and one
//! without an id; then it consumes, and says what became of each entry. Ctrl-C ends it.
//!
//! `REDIS_URL` names the Redis server; the script starts one. `DATABASE_URL` is `postgres://…` or `sqlite://path`, a file
//! in a temporary directory if it is not set. With the argument `consume` it adds nothing. `STREAM` is the stream
//! (`orders` if not set), `CLAIM_IDLE_MS` the milliseconds after which an entry that another consumer has left lying is
//! taken over (30 000 if not set).

use std::env;
use std::error::Error;
use std::future::Future;
use std::time::Duration;

use idem_examples::stream::{
    Consumer, Dispatcher, OrderPlaced, Settings, StreamDatabase, create_stream_tables, publish,
};
use idem_runtime::{Idempotency, SqlitePools};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use sqlx::Pool;
use sqlx::postgres::PgPoolOptions;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

type Failed = Box<dyn Error + Send + Sync>;

/// How long a read waits for an entry.
const PATIENCE: Duration = Duration::from_millis(200);

/// How long after a failure of Redis or the database the next try is made.
const PAUSE: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let url = env::var("REDIS_URL").map_err(|_| "set REDIS_URL, or run this under scripts/with-redis")?;
    let stream = env::var("STREAM").unwrap_or_else(|_| "orders".to_owned());
    let idle_ms = env::var("CLAIM_IDLE_MS").map_or(Ok(30_000), |ms| ms.parse())?;
    let settings = Settings {
        stream,
        group: "fulfilment".to_owned(),
        name: format!("consumer-{}", std::process::id()),
        idle: Duration::from_millis(idle_ms),
    };
    let redis = redis::Client::open(url)?;
    if env::args().nth(1).as_deref() != Some("consume") {
        add_orders(&mut connect(&redis).await?, &settings.stream).await?;
    }

    match env::var("DATABASE_URL") {
        Ok(url) if url.starts_with("postgres") => {
            let pool = PgPoolOptions::new().connect(&url).await?;
            consume(Idempotency::builder(pool.clone()).build()?, &pool, &redis, settings).await
        }
        Ok(url) => {
            let pools = SqlitePools::connect(&format!("{url}?mode=rwc")).await?;
            let writer = pools.writer().clone();
            consume(Idempotency::builder(pools).build()?, &writer, &redis, settings).await
        }
        Err(_) => {
            let directory = env::temp_dir().join(format!("idem-stream-{}", std::process::id()));
            std::fs::create_dir_all(&directory)?;
            let url = format!("sqlite://{}?mode=rwc", directory.join("shop.db").display());
            let pools = SqlitePools::connect(&url).await?;
            let writer = pools.writer().clone();
            let ended = consume(Idempotency::builder(pools).build()?, &writer, &redis, settings).await;
            std::fs::remove_dir_all(&directory)?;
            ended
        }
    }
}

/// Three orders: one, one twice, and one that has no id.
async fn add_orders(redis: &mut ConnectionManager, stream: &str) -> Result<(), Failed> {
    let orders = [
        (Some("evt-1"), "order-1", "tea"),
        (Some("evt-2"), "order-2", "coffee"),
        (Some("evt-2"), "order-2", "coffee"),
        (None, "order-3", "milk"),
    ];
    for (event_id, order, item) in orders {
        let event_id = event_id.map(str::to_owned);
        let event = OrderPlaced { event_id, order: order.to_owned(), item: item.to_owned() };
        publish(redis, stream, &event).await?;
    }
    Ok(())
}

/// Consumes and dispatches until it is told to stop.
async fn consume<DB: StreamDatabase>(
    idempotency: Idempotency<DB>,
    pool: &Pool<DB>,
    redis: &redis::Client,
    settings: Settings,
) -> Result<(), Failed> {
    idempotency.migrate().await?;
    create_stream_tables(pool).await?;

    let mut dispatcher = Dispatcher {
        stream: format!("{}.shipped", settings.stream),
        redis: connect(redis).await?,
        pool: pool.clone(),
    };
    let mut consumer = Consumer::join(settings, connect(redis).await?, idempotency).await?;
    println!("consuming");

    let mut stop = Box::pin(told_to_stop()?);
    loop {
        // Each step is done when it returns: nothing is half way when the loop ends.
        if let Err(error) = step(&mut consumer, &mut dispatcher).await {
            println!("{error}; trying again");
            sleep(PAUSE).await;
        }
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            () = std::future::ready(()) => {}
        }
    }
}

async fn step<DB: StreamDatabase>(
    consumer: &mut Consumer<DB>,
    dispatcher: &mut Dispatcher<DB>,
) -> Result<(), Failed> {
    consumer.step(PATIENCE).await?;
    while dispatcher.step().await? > 0 {}
    Ok(())
}

/// A connection that is made anew when it is lost, and on which a reply may take longer than an entry does.
async fn connect(client: &redis::Client) -> Result<ConnectionManager, Failed> {
    let config = ConnectionManagerConfig::new().set_response_timeout(Some(Duration::from_secs(10)));
    Ok(client.get_connection_manager_with_config(config).await?)
}

fn told_to_stop() -> Result<impl Future<Output = ()>, Failed> {
    let mut terminated = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated.recv() => {}
        }
    })
}
