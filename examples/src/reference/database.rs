use std::future::Future;

use idem_runtime::Store;
use sqlx::{Pool, Row as _};

use super::orders::Order;

/// A value bound to a statement.
#[derive(Clone, Copy, Debug)]
pub enum Value<'v> {
    /// A 64-bit integer.
    Int(i64),
    /// A text.
    Text(&'v str),
    /// A text, or NULL.
    Maybe(Option<&'v str>),
}

/// A database that the reference application runs on.
///
/// PostgreSQL and SQLite both read `$1` and `RETURNING`, so a handler's SQL is one text; what differs is
/// the tables' DDL and the types that sqlx binds and reads with.
pub trait Database: Store {
    /// The application's tables, one `CREATE TABLE IF NOT EXISTS` each.
    const TABLES: &'static [&'static str];

    /// Runs one statement and returns how many rows it touched.
    fn execute(
        connection: &mut Self::Connection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = sqlx::Result<u64>> + Send;

    /// Runs one statement and returns the integer in the first column of its first row, if there is one.
    fn integer(
        connection: &mut Self::Connection,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> impl Future<Output = sqlx::Result<Option<i64>>> + Send;

    /// Runs one statement without values and returns the texts in the first two columns of its rows.
    fn texts(
        connection: &mut Self::Connection,
        sql: &'static str,
    ) -> impl Future<Output = sqlx::Result<Vec<(String, String)>>> + Send;

    /// Reads the orders of `tenant`, oldest first.
    fn orders(
        connection: &mut Self::Connection,
        tenant: &str,
    ) -> impl Future<Output = sqlx::Result<Vec<Order>>> + Send;
}

/// Creates the application's tables where they are missing.
///
/// # Errors
/// The database's.
pub async fn create_tables<DB: Database>(pool: &Pool<DB>) -> sqlx::Result<()> {
    let mut connection = pool.acquire().await?;
    for table in DB::TABLES {
        DB::execute(&mut connection, table, &[]).await?;
    }
    Ok(())
}

/// A query with its values bound in order.
macro_rules! bind {
    ($sql:expr, $values:expr) => {
        $values.iter().fold(sqlx::query($sql), |query, value| match *value {
            Value::Int(number) => query.bind(number),
            Value::Text(text) => query.bind(text.to_owned()),
            Value::Maybe(text) => query.bind(text.map(str::to_owned)),
        })
    };
}

/// Implements [`Database`] with the same functions for two databases whose sqlx types share no trait that
/// says "binds integers and text".
macro_rules! database {
    ($database:ty, tables: $tables:expr) => {
        impl Database for $database {
            const TABLES: &'static [&'static str] = $tables;

            async fn execute(
                connection: &mut Self::Connection,
                sql: &'static str,
                values: &[Value<'_>],
            ) -> sqlx::Result<u64> {
                // Without values it is one message, also where statements are not kept prepared.
                let done = if values.is_empty() {
                    sqlx::raw_sql(sql).execute(connection).await?
                } else {
                    bind!(sql, values).execute(connection).await?
                };
                Ok(done.rows_affected())
            }

            async fn integer(
                connection: &mut Self::Connection,
                sql: &'static str,
                values: &[Value<'_>],
            ) -> sqlx::Result<Option<i64>> {
                let row = bind!(sql, values).fetch_optional(connection).await?;
                row.map(|row| row.try_get(0)).transpose()
            }

            async fn texts(
                connection: &mut Self::Connection,
                sql: &'static str,
            ) -> sqlx::Result<Vec<(String, String)>> {
                sqlx::query_as(sql).fetch_all(connection).await
            }

            async fn orders(connection: &mut Self::Connection, tenant: &str) -> sqlx::Result<Vec<Order>> {
                let rows = sqlx::query("SELECT id, item, qty FROM orders WHERE tenant = $1 ORDER BY id")
                    .bind(tenant)
                    .fetch_all(connection)
                    .await?;
                let order = |row: &<Self as sqlx::Database>::Row| {
                    Ok(Order { id: row.try_get(0)?, item: row.try_get(1)?, qty: row.try_get(2)? })
                };
                rows.iter().map(order).collect()
            }
        }
    };
}

database!(
    sqlx::Postgres,
    tables: &[
        "CREATE TABLE IF NOT EXISTS orders (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             tenant text NOT NULL,
             item text NOT NULL,
             qty bigint NOT NULL,
             order_no text,
             UNIQUE (tenant, order_no))",
        "CREATE TABLE IF NOT EXISTS refunds (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             tenant text NOT NULL,
             item text NOT NULL)",
        "CREATE TABLE IF NOT EXISTS audit (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             tenant text NOT NULL,
             note text NOT NULL)",
        "CREATE TABLE IF NOT EXISTS charges (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             tenant text NOT NULL,
             account bigint NOT NULL,
             amount bigint NOT NULL)",
        "CREATE TABLE IF NOT EXISTS stripe_charges (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             account text NOT NULL,
             amount bigint NOT NULL,
             currency text NOT NULL,
             description text,
             status text NOT NULL)",
        "CREATE TABLE IF NOT EXISTS counters (
             tenant text NOT NULL,
             id bigint NOT NULL,
             n bigint NOT NULL,
             PRIMARY KEY (tenant, id))",
        "CREATE TABLE IF NOT EXISTS things (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             tenant text NOT NULL,
             name text NOT NULL)",
    ]
);

database!(
    sqlx::Sqlite,
    tables: &[
        "CREATE TABLE IF NOT EXISTS orders (
             id INTEGER PRIMARY KEY,
             tenant TEXT NOT NULL,
             item TEXT NOT NULL,
             qty INTEGER NOT NULL,
             order_no TEXT,
             UNIQUE (tenant, order_no))",
        "CREATE TABLE IF NOT EXISTS refunds (
             id INTEGER PRIMARY KEY,
             tenant TEXT NOT NULL,
             item TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS audit (
             id INTEGER PRIMARY KEY,
             tenant TEXT NOT NULL,
             note TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS charges (
             id INTEGER PRIMARY KEY,
             tenant TEXT NOT NULL,
             account INTEGER NOT NULL,
             amount INTEGER NOT NULL)",
        "CREATE TABLE IF NOT EXISTS stripe_charges (
             id INTEGER PRIMARY KEY,
             account TEXT NOT NULL,
             amount INTEGER NOT NULL,
             currency TEXT NOT NULL,
             description TEXT,
             status TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS counters (
             tenant TEXT NOT NULL,
             id INTEGER NOT NULL,
             n INTEGER NOT NULL,
             PRIMARY KEY (tenant, id))",
        "CREATE TABLE IF NOT EXISTS things (
             id INTEGER PRIMARY KEY,
             tenant TEXT NOT NULL,
             name TEXT NOT NULL)",
    ]
);
