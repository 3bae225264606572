use redis::aio::ConnectionManager;
use redis::streams::StreamId;
use redis::{AsyncCommands as _, RedisResult};

/// What an entry of the stream says.
#[derive(Clone, Debug)]
pub struct OrderPlaced {
    /// The id that the producer gave the event, the same however often it adds it. The id of the entry will not do: an
    /// event that is added twice has two entries.
    pub event_id: Option<String>,
    /// The order's number.
    pub order: String,
    /// What was ordered.
    pub item: String,
}

impl OrderPlaced {
    /// Reads an entry; `None` if it is no such event.
    pub(super) fn read(entry: &StreamId) -> Option<Self> {
        Some(Self { event_id: entry.get("event_id"), order: entry.get("order")?, item: entry.get("item")? })
    }
}

/// Adds an event to a stream, as a producer does: again, with the same id, if it was not told that it was added.
///
/// # Errors
/// Those of Redis.
pub async fn publish(
    redis: &mut ConnectionManager,
    stream: &str,
    event: &OrderPlaced,
) -> RedisResult<String> {
    let mut fields = vec![("order", event.order.as_str()), ("item", event.item.as_str())];
    fields.extend(event.event_id.as_deref().map(|id| ("event_id", id)));
    redis.xadd(stream, "*", &fields).await
}
