use std::fmt;
use std::time::Duration;

use idem_runtime::{Consumed, Idempotency, Inbox, InboxError};
use redis::aio::ConnectionManager;
use redis::streams::{
    StreamAutoClaimOptions, StreamAutoClaimReply, StreamId, StreamPendingCountReply, StreamReadOptions,
    StreamReadReply,
};
use redis::{AsyncCommands as _, RedisResult};

use super::database::StreamDatabase;
use super::message::OrderPlaced;
use crate::reference::Value;

/// How many entries are read at a time.
const BATCH: usize = 16;

/// How often an entry is tried before a person has to look at it.
const MOST_DELIVERIES: usize = 20;

/// Where a consumer reads, and when it takes over.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The stream.
    pub stream: String,
    /// The group of consumers that share its entries. To the inbox, this is the consumer.
    pub group: String,
    /// This consumer's name within its group.
    pub name: String,
    /// How long an entry is left to the consumer that read it. Longer than any work takes, or two do it at once, of
    /// which one waits for the other and finds that it is done.
    pub idle: Duration,
}

/// One of the consumers of a stream.
#[derive(Debug)]
pub struct Consumer<DB: StreamDatabase> {
    settings: Settings,
    redis: ConnectionManager,
    idempotency: Idempotency<DB>,
    inbox: Inbox<DB>,
}

impl<DB: StreamDatabase> Consumer<DB> {
    /// A consumer that is in its group, which is made where it is missing.
    ///
    /// # Errors
    /// Those of Redis.
    pub async fn join(
        settings: Settings,
        redis: ConnectionManager,
        idempotency: Idempotency<DB>,
    ) -> RedisResult<Self> {
        let inbox = idempotency.inbox(&settings.group);
        let mut consumer = Self { settings, redis, idempotency, inbox };
        consumer.make_group().await?;
        Ok(consumer)
    }

    async fn make_group(&mut self) -> RedisResult<()> {
        let Settings { stream, group, .. } = &self.settings;
        let made: RedisResult<()> = self.redis.xgroup_create_mkstream(stream, group, "0").await;
        match made {
            // It is there already.
            Err(error) if error.code() == Some("BUSYGROUP") => Ok(()),
            made => made,
        }
    }

    /// Handles the entries that are there, those first that another consumer has left lying; waits for the next for as
    /// long as `patience`.
    ///
    /// # Errors
    /// Those of Redis. What the entries themselves come to is no error of this call.
    pub async fn step(&mut self, patience: Duration) -> RedisResult<()> {
        match self.read(patience).await {
            // Redis came back without its data. What producers add again is known to the inbox.
            Err(error) if error.code() == Some("NOGROUP") => self.make_group().await,
            read => read,
        }
    }

    async fn read(&mut self, patience: Duration) -> RedisResult<()> {
        let Settings { stream, group, name, idle } = &self.settings;
        let idle_ms = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        let left: StreamAutoClaimReply = self
            .redis
            .xautoclaim_options(
                stream,
                group,
                name,
                idle_ms,
                "0-0",
                StreamAutoClaimOptions::default().count(BATCH),
            )
            .await?;
        for entry in left.claimed {
            self.handle(&entry).await?;
        }

        let Settings { stream, group, name, .. } = &self.settings;
        let options = StreamReadOptions::default()
            .group(group, name)
            .count(BATCH)
            .block(usize::try_from(patience.as_millis()).unwrap_or(usize::MAX));
        let new: Option<StreamReadReply> = self.redis.xread_options(&[stream], &[">"], &options).await?;
        for entry in new.into_iter().flat_map(|reply| reply.keys).flat_map(|key| key.ids) {
            self.handle(&entry).await?;
        }
        Ok(())
    }

    /// Handles one entry. One that fails again and again is set aside for a person.
    async fn handle(&mut self, entry: &StreamId) -> RedisResult<()> {
        if self.is_done(entry).await? {
            return Ok(());
        }
        // While the database is away every entry fails, and none is to blame. It may be back only just now: once more.
        let is_suspect =
            self.deliveries(entry).await? >= MOST_DELIVERIES && self.idempotency.health().await.is_ok();
        if is_suspect && !self.is_done(entry).await? {
            return self.set_aside(entry, "it failed too often").await;
        }
        Ok(())
    }

    /// Does what an entry asks for, and acknowledges it once that is committed. `false` if it failed: then it is left
    /// lying until its time comes again.
    async fn is_done(&mut self, entry: &StreamId) -> RedisResult<bool> {
        let Some(order) = OrderPlaced::read(entry) else {
            self.set_aside(entry, "it is no order").await?;
            return Ok(true);
        };
        let event_id = order.event_id.clone();
        let shipped = self
            .inbox
            .consume(&self.settings.stream, &event_id, async |tx| ship::<DB>(tx, order).await)
            .await;
        match shipped {
            // Now, and not earlier: until COMMIT, all of it may yet be undone.
            Ok(Consumed::Now(())) => println!("{}: shipped", entry.id),
            Ok(Consumed::Before) => println!("{}: was shipped before", entry.id),
            Err(Failure::Inbox(error)) if error.is_permanent() => {
                self.set_aside(entry, &error.to_string()).await?;
                return Ok(true);
            }
            // Nothing was written, and nothing is open while the entry waits to be tried again.
            Err(failure) => {
                println!("{}: failed: {failure}", entry.id);
                return Ok(false);
            }
        }
        self.acknowledge(entry).await?;
        Ok(true)
    }

    async fn acknowledge(&mut self, entry: &StreamId) -> RedisResult<()> {
        let Settings { stream, group, .. } = &self.settings;
        self.redis.xack(stream, group, &[&entry.id]).await
    }

    /// Moves an entry to where a person looks at it; nothing of it is lost.
    async fn set_aside(&mut self, entry: &StreamId, why: &str) -> RedisResult<()> {
        println!("{}: set aside: {why}", entry.id);
        let Settings { stream, group, .. } = &self.settings;
        let mut fields: Vec<(&str, Vec<u8>)> =
            entry.map.keys().filter_map(|name| Some((name.as_str(), entry.get(name)?))).collect();
        fields.push(("why", why.into()));
        redis::pipe()
            .atomic()
            .xadd(format!("{stream}.aside"), "*", &fields)
            .xack(stream, group, &[&entry.id])
            .exec_async(&mut self.redis)
            .await
    }

    /// How often an entry was given to a consumer.
    async fn deliveries(&mut self, entry: &StreamId) -> RedisResult<usize> {
        let Settings { stream, group, .. } = &self.settings;
        let pending: StreamPendingCountReply =
            self.redis.xpending_count(stream, group, &entry.id, &entry.id, 1).await?;
        Ok(pending.ids.first().map_or(0, |pending| pending.times_delivered))
    }
}

/// Why a message is not done.
#[derive(Debug)]
enum Failure {
    Inbox(InboxError),
    Database(sqlx::Error),
}

/// Without what a database's error may quote of the message.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inbox(InboxError::Store(error)) | Self::Database(error) => error.fmt(f),
            Self::Inbox(error) => error.fmt(f),
        }
    }
}

impl From<InboxError> for Failure {
    fn from(error: InboxError) -> Self {
        Self::Inbox(error)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

/// What a message is for: the shipment, and the event that tells of it, in the transaction that claimed the message.
async fn ship<DB: StreamDatabase>(tx: &mut DB::Connection, order: OrderPlaced) -> Result<(), Failure> {
    let insert = "INSERT INTO shipments (order_no, item) VALUES ($1, $2)";
    DB::execute(tx, insert, &[Value::Text(&order.order), Value::Text(&order.item)]).await?;
    // Made of what the message says, so that the event is the same however often it is sent.
    let event_id = format!("shipped-{}", order.order);
    let insert = "INSERT INTO outbox (event_id, payload) VALUES ($1, $2)";
    DB::execute(tx, insert, &[Value::Text(&event_id), Value::Text(&order.item)]).await?;
    Ok(())
}
