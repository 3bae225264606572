use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs, io, process};

use idem_runtime::{Idempotency, ReadOnly, SqlitePools};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _, Sqlite, SqliteConnection, SqlitePool};

use super::{Connected, KeyRow, Place, TestDatabase};
use crate::patience::soon;

impl TestDatabase for Sqlite {
    type Place = SqlitePlace;

    const ERRORS_ABORT: bool = false;
    const WRITES_IN_PARALLEL: bool = false;

    async fn fail_transiently(_: &mut SqliteConnection) -> sqlx::Error {
        sqlx::Error::Io(io::ErrorKind::ConnectionReset.into())
    }
}

/// A file in a directory of its own.
#[derive(Clone, Debug)]
pub struct SqlitePlace {
    directory: PathBuf,
    /// The test's own connections.
    observer: SqlitePool,
    /// How the application opens the file, as a URL says it.
    mode: &'static str,
    /// From when on the application takes a statement for a slow one.
    slow: Duration,
}

impl SqlitePlace {
    /// The URL of this place for another program.
    #[must_use]
    pub fn url(&self) -> String {
        format!("sqlite://{}", self.file().display())
    }

    /// The same place, for an application that opens the file read-only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.mode = "ro";
        self
    }

    /// The pools of one process.
    async fn pools(&self) -> SqlitePools {
        let url = format!("{}?mode={}", self.url(), self.mode);
        let options = url.parse::<SqliteConnectOptions>().expect("the URL can be read");
        let level = "WARN".parse().expect("a level");
        let options = options.log_slow_statements(level, self.slow);
        SqlitePools::connect_with(options).await.expect("the file opens")
    }

    fn file(&self) -> PathBuf {
        self.directory.join("test.db")
    }

    fn key_row(row: &SqliteRow) -> sqlx::Result<KeyRow> {
        Ok(KeyRow {
            id: row.try_get("id")?,
            scope: row.try_get("scope")?,
            key: row.try_get("key")?,
            fingerprint: row.try_get("fingerprint")?,
            fingerprint_version: row.try_get("fingerprint_version")?,
            status: row.try_get("response_status")?,
            headers: row.try_get("response_headers")?,
            body: row.try_get("response_body")?,
            created_at: row.try_get("created_at")?,
            completed_at: row.try_get("completed_at")?,
            expires_at: row.try_get("expires_at")?,
        })
    }
}

impl Place for SqlitePlace {
    type Database = Sqlite;

    async fn create() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("idem-tests-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = env::temp_dir().join(name);
        fs::create_dir(&directory).expect("the temporary directory can be written to");

        let options = SqliteConnectOptions::new()
            .filename(directory.join("test.db"))
            .create_if_missing(true)
            .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal)
            .busy_timeout(Duration::from_secs(20));
        let observer = SqlitePoolOptions::new().max_connections(2).connect_lazy_with(options);
        Self { directory, observer, mode: "rwc", slow: Duration::from_secs(1) }
    }

    fn with_every_statement_slow(mut self) -> Self {
        self.slow = Duration::ZERO;
        self
    }

    /// As one more process would: with a writer and readers of its own. `connections` is PostgreSQL's.
    async fn connect(&self, _connections: u32, via: Option<SocketAddr>) -> Connected<Sqlite> {
        assert_eq!(via, None, "there is no proxy to a file");
        let pools = self.pools().await;
        let (writer, reader) = (pools.writer().clone(), pools.reader().clone());
        Connected { builder: Idempotency::builder(pools), writer, reader }
    }

    async fn lookups(&self) -> ReadOnly<SqlitePool> {
        self.pools().await.read_only()
    }

    fn pool(&self) -> &SqlitePool {
        &self.observer
    }

    async fn key_rows(&self) -> Vec<KeyRow> {
        let sql = "SELECT id, scope, key, fingerprint, fingerprint_version, response_status,
                          response_headers, response_body, created_at * 1000 AS created_at,
                          completed_at * 1000 AS completed_at, expires_at * 1000 AS expires_at
                   FROM idempotency_keys ORDER BY created_at, id";
        let rows = soon(sqlx::query(sql).fetch_all(&self.observer)).await.expect("the key table can be read");
        rows.iter().map(|row| Self::key_row(row).expect("the columns of a key row")).collect()
    }

    async fn execute(&self, sql: &str) -> u64 {
        let done = soon(sqlx::query(AssertSqlSafe(sql)).execute(&self.observer)).await;
        done.unwrap_or_else(|error| panic!("{sql}: {error}")).rows_affected()
    }

    async fn integer(&self, sql: &str) -> i64 {
        let value = soon(sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&self.observer)).await;
        value.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    async fn clock(&self) -> i64 {
        self.integer("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000").await
    }

    fn time(seconds: i64) -> String {
        format!("CAST(unixepoch('subsec') * 1000 AS INTEGER) + {}", seconds * 1000)
    }

    async fn expire_as_reservations_begin(&self) {
        let (table, now) = (self.key_table(), Self::time(0));
        self.execute(&format!(
            "CREATE TRIGGER expire BEFORE INSERT ON {table} BEGIN UPDATE {table} SET expires_at = {now}; END"
        ))
        .await;
    }

    fn key_table(&self) -> String {
        "idempotency_keys".to_owned()
    }

    fn filling(table: &str, prefix: &str, count: u32, seconds: i64) -> String {
        let (now, last) = (Self::time(0), Self::time(seconds));
        format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
             INSERT INTO {table} (id, scope, key, fingerprint, fingerprint_version, response_status,
                 response_headers, response_body, created_at, completed_at, expires_at)
             SELECT randomblob(16), 'tenant=t1&endpoint=POST%20/orders', '{prefix}-' || n,
                 randomblob(32), 1, 201, x'', CAST('{{\"id\":' || n || '}}' AS BLOB),
                 {now} - 86400000, {now} - 86400000, {last} - ({count} - n)
             FROM numbers"
        )
    }

    async fn refuse_to_delete(&self, key: &str) {
        let table = self.key_table();
        self.execute(&format!(
            "CREATE TRIGGER refuse BEFORE DELETE ON {table} WHEN OLD.key = '{key}'
             BEGIN SELECT RAISE(ABORT, 'this row is to stay'); END"
        ))
        .await;
    }

    async fn deletes_again(&self) {
        self.execute("DROP TRIGGER refuse").await;
    }

    async fn assert_whole(&self, pool: &SqlitePool) {
        let mut connections = Vec::new();
        for _ in 0..pool.options().get_max_connections() {
            connections.push(soon(pool.acquire()).await.expect("every connection of the pool can be had"));
        }
        for connection in &mut connections {
            // SQLite refuses to begin a transaction within a transaction.
            for sql in ["BEGIN", "ROLLBACK"] {
                let done = soon(sqlx::query(sql).execute(&mut **connection)).await;
                done.expect("a pooled connection is outside of any transaction");
            }
        }
    }

    async fn remove(self) {
        self.observer.close().await;
        fs::remove_dir_all(&self.directory).expect("the directory is this test's own");
    }
}
