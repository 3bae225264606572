use std::error::Error;

use redis::AsyncCommands as _;
use redis::aio::ConnectionManager;
use sqlx::Pool;

use super::database::StreamDatabase;

/// Sends what the consumers queue in the outbox.
#[derive(Debug)]
pub struct Dispatcher<DB: StreamDatabase> {
    /// The stream that the events go to.
    pub stream: String,
    /// The connection they go over.
    pub redis: ConnectionManager,
    /// Where the outbox is.
    pub pool: Pool<DB>,
}

impl<DB: StreamDatabase> Dispatcher<DB> {
    /// Sends some of the events, in no order, and gives their number; 0 if there are none.
    ///
    /// An event leaves the outbox in the transaction during which it is sent. If the process dies between the two, it
    /// is sent again, with the id that it had: those who read it do so through an inbox of their own.
    ///
    /// # Errors
    /// Those of Redis and of the database. Nothing is lost: what is not known to be sent is sent again.
    pub async fn step(&mut self) -> Result<usize, Box<dyn Error + Send + Sync>> {
        let mut tx = self.pool.begin_with(DB::BEGIN).await?;
        let events = DB::texts(&mut tx, DB::TAKE_EVENTS).await?;
        if events.is_empty() {
            tx.rollback().await?;
            return Ok(0);
        }
        for (event_id, payload) in &events {
            let _: String =
                self.redis.xadd(&self.stream, "*", &[("event_id", event_id), ("item", payload)]).await?;
        }
        #[expect(clippy::disallowed_methods, reason = "every statement of the transaction succeeded")]
        tx.commit().await?;
        Ok(events.len())
    }
}
