//! A Redis stream of a test's own, and a proxy before its server.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};

use idem_examples::stream::{OrderPlaced, publish};
use redis::aio::ConnectionManager;
use redis::streams::{StreamInfoGroupsReply, StreamPendingCountReply, StreamRangeReply};
use redis::{AsyncCommands as _, Client, ConnectionAddr, IntoConnectionInfo as _, RedisResult};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::patience::{eventually, soon};

/// The server that the tests are given.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn redis_url() -> String {
    env::var("REDIS_URL").expect(
        "these tests speak to a Redis server: run `scripts/test`, or set REDIS_URL to the redis:// URL of one",
    )
}

/// The group that the example reads as.
const GROUP: &str = "fulfilment";

/// Orders on a stream that no other test has.
#[derive(Clone)]
pub struct Orders {
    /// The stream's name.
    pub stream: String,
    redis: ConnectionManager,
}

impl Orders {
    /// A stream without entries.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn create() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let client = Client::open(redis_url()).expect("REDIS_URL is a URL of Redis");
        let redis = soon(client.get_connection_manager()).await.expect("the Redis server answers");
        let stream = format!("idem-test-{}-{number}", std::process::id());
        let orders = Self { stream, redis };
        // An earlier process may have had the same id.
        orders.remove().await;
        orders
    }

    /// Adds an order with this event id and number.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn add(&self, event_id: Option<&str>, order: &str) {
        let event_id = event_id.map(str::to_owned);
        let event = OrderPlaced { event_id, order: order.to_owned(), item: "tea".to_owned() };
        publish(&mut self.redis.clone(), &self.stream, &event).await.expect("an entry can be added");
    }

    /// Adds an entry that is no order.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn add_other(&self, field: &str, value: &str) {
        let added: RedisResult<String> = self.redis.clone().xadd(&self.stream, "*", &[(field, value)]).await;
        added.expect("an entry can be added");
    }

    /// Waits until every entry is acknowledged.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn acknowledged(&self) {
        eventually(async || {
            let groups = self.redis.clone().xinfo_groups(&self.stream).await;
            let StreamInfoGroupsReply { groups } = groups.expect("the stream is there");
            groups.iter().all(|group| group.pending == 0 && group.lag == Some(0)) && !groups.is_empty()
        })
        .await;
    }

    /// How many entries are read and not acknowledged.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn pending(&self) -> usize {
        let groups = self.redis.clone().xinfo_groups(&self.stream).await;
        let StreamInfoGroupsReply { groups } = groups.expect("the stream is there");
        groups.iter().map(|group| group.pending).sum()
    }

    /// How often the entry was delivered that was delivered most often, of those that are not acknowledged.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn most_deliveries(&self) -> usize {
        let pending = self.redis.clone().xpending_count(&self.stream, GROUP, "-", "+", 100).await;
        let StreamPendingCountReply { ids } = pending.expect("the group is there");
        ids.iter().map(|entry| entry.times_delivered).max().unwrap_or(0)
    }

    /// Removes the stream and its group, as if Redis had lost them.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn lose(&self) {
        let _: usize = self.redis.clone().del(&self.stream).await.expect("a stream can be removed");
    }

    /// The ids of the events that tell of shipments, each with how often it was sent.
    pub async fn shipped(&self) -> BTreeMap<String, usize> {
        let mut events = BTreeMap::new();
        for event_id in self.field("shipped", "event_id").await {
            *events.entry(event_id).or_default() += 1;
        }
        events
    }

    /// Why entries were set aside.
    pub async fn aside(&self) -> Vec<String> {
        self.aside_with("why").await
    }

    /// What they say in this field, which all of them have.
    pub async fn aside_with(&self, field: &str) -> Vec<String> {
        self.field("aside", field).await
    }

    /// The values of a field, from the oldest entry of the stream with this suffix.
    async fn field(&self, suffix: &str, field: &str) -> Vec<String> {
        let reply = self.redis.clone().xrange_all(format!("{}.{suffix}", self.stream)).await;
        let StreamRangeReply { ids } = reply.expect("the stream can be read");
        ids.iter().map(|entry| entry.get(field).expect("every entry has the field")).collect()
    }

    /// Removes the streams.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn remove(&self) {
        let stream = &self.stream;
        let names = [stream.clone(), format!("{stream}.shipped"), format!("{stream}.aside")];
        let _: usize = self.redis.clone().del(&names).await.expect("streams can be removed");
    }
}

impl std::fmt::Debug for Orders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Orders").field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// The names of so many events.
#[must_use]
pub fn event_ids(count: usize) -> BTreeSet<String> {
    (1..=count).map(|number| format!("evt-{number}")).collect()
}

/// Where a [`RedisProxy`] stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopAt {
    /// The server does not see the command.
    Command,
    /// The server has carried it out; the client does not see the reply.
    Reply,
}

/// A proxy to the Redis server, which passes nothing on any more once a command comes with a certain word in it.
#[derive(Debug)]
pub struct RedisProxy {
    /// The server's URL, through the proxy.
    pub url: String,
    reached: watch::Receiver<bool>,
    listener: JoinHandle<()>,
}

impl RedisProxy {
    /// Starts a proxy that stops at the first command with `word` in it.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn start(word: &str, stop_at: StopAt) -> Self {
        let url = redis_url();
        let info = url.as_str().into_connection_info().expect("REDIS_URL is a URL of Redis");
        let ConnectionAddr::Tcp(host, port) = info.addr() else { panic!("REDIS_URL is not one of TCP") };
        let upstream = soon(tokio::net::lookup_host((host.as_str(), *port))).await.expect("it resolves");
        let upstream = upstream.into_iter().next().expect("it has an address");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let url = url.replacen(&format!("{host}:{port}"), &address.to_string(), 1);
        assert!(url.contains(&address.to_string()), "REDIS_URL names its port");

        let (stopping, reached) = watch::channel(false);
        let word = word.to_owned();
        let listener = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (word, stopping) = (word.clone(), stopping.clone());
                connections.spawn(async move {
                    // An error is the end of a connection, on whichever side: both are closed by leaving.
                    let _ = relay(client, upstream, word.as_bytes(), stop_at, &stopping).await;
                });
            }
        });
        Self { url, reached, listener }
    }

    /// Waits until it has stopped.
    ///
    /// # Panics
    /// If that takes too long.
    pub async fn stopped(&mut self) {
        soon(self.reached.wait_for(|reached| *reached)).await.expect("the proxy still runs");
    }
}

impl Drop for RedisProxy {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn relay(
    mut client: TcpStream,
    upstream: SocketAddr,
    word: &[u8],
    stop_at: StopAt,
    stopping: &watch::Sender<bool>,
) -> std::io::Result<()> {
    let mut server = TcpStream::connect(upstream).await?;
    let (mut commands, mut replies) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut others = stopping.subscribe();
    let mut is_last = false;
    let mut stopped = pin!(async move { others.wait_for(|stopped| *stopped).await.is_ok() });
    loop {
        tokio::select! {
            biased;
            // The other connections stand still as well.
            _ = &mut stopped => return std::future::pending().await,
            read = server.read(&mut replies) => {
                let length = read?;
                if length == 0 { return Ok(()) }
                if is_last {
                    stopping.send_replace(true);
                    continue;
                }
                client.write_all(&replies[..length]).await?;
            }
            read = client.read(&mut commands) => {
                let length = read?;
                if length == 0 { return Ok(()) }
                // The driver sends a command in one piece.
                if commands[..length].windows(word.len()).any(|bytes| bytes == word) {
                    if stop_at == StopAt::Command {
                        stopping.send_replace(true);
                        continue;
                    }
                    is_last = true;
                }
                server.write_all(&commands[..length]).await?;
            }
        }
    }
}
