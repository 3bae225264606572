//! Messages, each processed once.

use idem_examples::reference::Value;
use idem_runtime::{Consumed, Inbox, InboxError};

use crate::bench::Bench;
use crate::database::TestDatabase;
use crate::patience::soon;

/// The source of the messages.
const QUEUE: &str = "queue";

/// The effect of a message.
async fn apply<DB: TestDatabase>(connection: &mut DB::Connection, message: &str) -> sqlx::Result<()> {
    let sql = "INSERT INTO audit (tenant, note) VALUES ('t1', $1)";
    DB::execute(connection, sql, &[Value::Text(message)]).await.map(drop)
}

/// Processes a message as a consumer does.
async fn consume<DB: TestDatabase>(inbox: &Inbox<DB>, message: &str) -> Result<Consumed<()>, InboxError> {
    soon(inbox.consume(QUEUE, message, async |tx| Ok(apply::<DB>(tx, message).await?))).await
}

// Cases: W-14
pub async fn a_message_is_processed_once<DB: TestDatabase>(bench: &Bench<DB>) {
    let inbox = bench.server().app().await.idempotency.inbox("billing");

    let first = consume(&inbox, "m-1").await.expect("the database works");
    let again = consume(&inbox, "m-1").await.expect("the database works");

    assert_eq!((first, again), (Consumed::Now(()), Consumed::Before));
    assert_eq!(bench.count("audit").await, 1);
    assert_eq!(bench.key_row().await.scope, "consumer=billing&source=queue");
}
