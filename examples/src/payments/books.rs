//! What the service keeps in its database: its orders, and the calls that it still has to make.

use std::future::Future;
use std::time::Duration;

use idem_runtime::Store;
use sqlx::{Pool, Row as _};

use super::calls::Verdict;
use super::orders::{NewOrder, Order};
use crate::reference::TenantId;

/// A call that has been written down.
#[derive(Clone, Debug)]
pub struct Queued {
    /// The idempotency key that it is made with, each time, and its row's primary key: no two calls have the same. A
    /// row's number would not do, since SQLite gives that of a deleted row to the next.
    pub(super) key: String,
    /// The order that it is for.
    pub(super) order: i64,
    /// Its content, the same to the byte each time.
    pub(super) payment: String,
}

/// A database that the service runs on.
pub trait Books: Store {
    /// The tables, one `CREATE TABLE IF NOT EXISTS` each.
    const TABLES: &'static [&'static str];

    /// Inserts an order that is not paid yet, and gives its number.
    fn insert_order(
        connection: &mut Self::Connection,
        tenant: &TenantId,
        order: &NewOrder,
    ) -> impl Future<Output = sqlx::Result<i64>> + Send;

    /// Writes what the provider has decided on an order; nothing, if that is written already.
    fn settle(
        connection: &mut Self::Connection,
        order: i64,
        verdict: &Verdict,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Reads an order of this tenant.
    fn order(
        connection: &mut Self::Connection,
        tenant: &TenantId,
        order: i64,
    ) -> impl Future<Output = sqlx::Result<Option<Order>>> + Send;

    /// Writes a call down, in the transaction that the order is written in.
    fn enqueue(
        connection: &mut Self::Connection,
        order: i64,
        key: &str,
        payment: &str,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Takes the call that has been due for longest, so that nobody else takes it for as long as `lease`.
    ///
    /// One statement and its own transaction: nothing is held while the call is made. A call that is older than the
    /// provider's memory of its key is not taken any more.
    fn take_queued(
        connection: &mut Self::Connection,
        lease: Duration,
    ) -> impl Future<Output = sqlx::Result<Option<Queued>>> + Send;

    /// Strikes a call out.
    fn strike_out(
        connection: &mut Self::Connection,
        key: &str,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Creates the tables where they are missing.
    fn create_tables(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<()>> + Send;
}

/// Implements [`Books`] for two databases that read the same SQL, but for the tables and the claim, and whose sqlx types
/// share no trait that says "binds integers and text".
macro_rules! books {
    ($database:ty, tables: $tables:expr, take: $take:expr) => {
        impl Books for $database {
            const TABLES: &'static [&'static str] = $tables;

            async fn insert_order(
                connection: &mut Self::Connection,
                tenant: &TenantId,
                order: &NewOrder,
            ) -> sqlx::Result<i64> {
                sqlx::query_scalar(
                    "INSERT INTO orders (tenant, item, cents) VALUES ($1, $2, $3) RETURNING id",
                )
                .bind(&tenant.0)
                .bind(&order.item)
                .bind(order.cents)
                .fetch_one(connection)
                .await
            }

            async fn settle(
                connection: &mut Self::Connection,
                order: i64,
                verdict: &Verdict,
            ) -> sqlx::Result<()> {
                let (state, charge) = match verdict {
                    Verdict::Charged(charge) => ("paid", Some(charge)),
                    Verdict::Declined(_) => ("declined", None),
                };
                let sql = "UPDATE orders SET state = $2, charge = $3 WHERE id = $1 AND state = 'charging'";
                sqlx::query(sql).bind(order).bind(state).bind(charge).execute(connection).await?;
                Ok(())
            }

            async fn order(
                connection: &mut Self::Connection,
                tenant: &TenantId,
                order: i64,
            ) -> sqlx::Result<Option<Order>> {
                let sql = "SELECT id, item, cents, state, charge FROM orders WHERE tenant = $1 AND id = $2";
                let row = sqlx::query(sql).bind(&tenant.0).bind(order).fetch_optional(connection).await?;
                row.map(|row| {
                    Ok(Order {
                        id: row.try_get(0)?,
                        item: row.try_get(1)?,
                        cents: row.try_get(2)?,
                        state: row.try_get(3)?,
                        charge: row.try_get(4)?,
                    })
                })
                .transpose()
            }

            async fn enqueue(
                connection: &mut Self::Connection,
                order: i64,
                key: &str,
                payment: &str,
            ) -> sqlx::Result<()> {
                let sql = "INSERT INTO outbox (key, order_id, payment) VALUES ($1, $2, $3)";
                sqlx::query(sql).bind(key).bind(order).bind(payment).execute(connection).await?;
                Ok(())
            }

            async fn take_queued(
                connection: &mut Self::Connection,
                lease: Duration,
            ) -> sqlx::Result<Option<Queued>> {
                let row = sqlx::query($take).bind(lease.as_secs_f64()).fetch_optional(connection).await?;
                row.map(|row| {
                    Ok(Queued { key: row.try_get(0)?, order: row.try_get(1)?, payment: row.try_get(2)? })
                })
                .transpose()
            }

            async fn strike_out(connection: &mut Self::Connection, key: &str) -> sqlx::Result<()> {
                sqlx::query("DELETE FROM outbox WHERE key = $1").bind(key).execute(connection).await?;
                Ok(())
            }

            async fn create_tables(pool: &Pool<Self>) -> sqlx::Result<()> {
                for table in Self::TABLES {
                    sqlx::raw_sql(*table).execute(pool).await?;
                }
                Ok(())
            }
        }
    };
}

// `charge` is unique: two orders never rest on the same money, whatever the code above has in mind.
books!(
    sqlx::Postgres,
    tables: &[
        "CREATE TABLE IF NOT EXISTS orders (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             tenant text NOT NULL,
             item text NOT NULL,
             cents bigint NOT NULL,
             state text NOT NULL DEFAULT 'charging',
             charge text UNIQUE,
             CHECK ((state = 'paid') = (charge IS NOT NULL)))",
        "CREATE TABLE IF NOT EXISTS outbox (
             key text PRIMARY KEY,
             order_id bigint NOT NULL REFERENCES orders (id),
             payment text NOT NULL,
             created_at timestamptz NOT NULL DEFAULT now(),
             due_at timestamptz NOT NULL DEFAULT now())",
    ],
    // A row that another dispatcher is taking is passed over, not waited for.
    take: "
        UPDATE outbox SET due_at = now() + make_interval(secs => $1)
        WHERE key = (SELECT key FROM outbox
                    WHERE due_at <= now() AND created_at > now() - interval '20 hours'
                    ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING key, order_id, payment"
);

books!(
    sqlx::Sqlite,
    tables: &[
        "CREATE TABLE IF NOT EXISTS orders (
             id INTEGER PRIMARY KEY,
             tenant TEXT NOT NULL,
             item TEXT NOT NULL,
             cents INTEGER NOT NULL,
             state TEXT NOT NULL DEFAULT 'charging',
             charge TEXT UNIQUE,
             CHECK ((state = 'paid') = (charge IS NOT NULL)))",
        "CREATE TABLE IF NOT EXISTS outbox (
             key TEXT PRIMARY KEY NOT NULL,
             order_id INTEGER NOT NULL REFERENCES orders (id),
             payment TEXT NOT NULL,
             created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
             due_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))",
    ],
    // One UPDATE takes the file's write lock before it reads, as BEGIN IMMEDIATE would.
    take: "
        UPDATE outbox SET due_at = CAST((unixepoch('subsec') + $1) * 1000 AS INTEGER)
        WHERE key = (SELECT key FROM outbox
                    WHERE due_at <= CAST(unixepoch('subsec') * 1000 AS INTEGER)
                      AND created_at > CAST((unixepoch('subsec') - 20 * 3600) * 1000 AS INTEGER)
                    ORDER BY due_at LIMIT 1)
        RETURNING key, order_id, payment"
);
