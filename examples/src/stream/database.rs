use sqlx::Pool;

use crate::reference::Database;

/// A database that the consumer writes to.
pub trait StreamDatabase: Database {
    /// Takes events out of the outbox, in no order, that no other dispatcher has in hand.
    const TAKE_EVENTS: &'static str;

    /// Begins a transaction that is going to write.
    const BEGIN: &'static str;
}

impl StreamDatabase for sqlx::Postgres {
    // Two dispatchers never have the same event in hand, and neither waits for the other.
    const TAKE_EVENTS: &'static str = "DELETE FROM outbox WHERE event_id IN (
         SELECT event_id FROM outbox ORDER BY event_id LIMIT 100 FOR UPDATE SKIP LOCKED)
         RETURNING event_id, payload";

    const BEGIN: &'static str = "BEGIN";
}

impl StreamDatabase for sqlx::Sqlite {
    const TAKE_EVENTS: &'static str = "DELETE FROM outbox WHERE event_id IN (
         SELECT event_id FROM outbox ORDER BY event_id LIMIT 100)
         RETURNING event_id, payload";

    const BEGIN: &'static str = "BEGIN IMMEDIATE";
}

/// The consumer's own tables, in words that both databases read.
///
/// A shop would make `order_no` and `event_id` unique: a second layer, which holds when the inbox has forgotten the
/// message. Here they are not, so that an order that is shipped twice can be seen.
const TABLES: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS shipments (order_no text NOT NULL, item text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS outbox (event_id text NOT NULL, payload text NOT NULL)",
];

/// Creates the consumer's tables where they are missing.
///
/// # Errors
/// The database's.
pub async fn create_stream_tables<DB: StreamDatabase>(pool: &Pool<DB>) -> sqlx::Result<()> {
    let mut connection = pool.acquire().await?;
    for table in TABLES {
        DB::execute(&mut connection, table, &[]).await?;
    }
    Ok(())
}
