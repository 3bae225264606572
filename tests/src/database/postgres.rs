use std::env;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::{Idempotency, ReadOnly};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, PgPool, Postgres, Row as _};

use super::{Connected, KeyRow, Place, TestDatabase};
use crate::own_server::OwnServer;
use crate::patience::{eventually, soon};

/// The name of the test's own sessions.
const OBSERVER: &str = "observer";

impl TestDatabase for Postgres {
    type Place = PgPlace;

    const ERRORS_ABORT: bool = true;
    const WRITES_IN_PARALLEL: bool = true;

    async fn fail_transiently(connection: &mut PgConnection) -> sqlx::Error {
        let sql = "DO $$ BEGIN RAISE 'lost' USING ERRCODE = 'serialization_failure'; END $$";
        sqlx::query(sql).execute(connection).await.expect_err("the statement raises an error")
    }
}

/// A schema of its own, or a database of its own, on the server that `DATABASE_URL` names.
#[derive(Clone, Debug)]
pub struct PgPlace {
    schema: String,
    /// The database's name, where it is this test's own.
    own_database: Option<String>,
    options: PgConnectOptions,
    /// Those of the application's pools for look-ups.
    lookup_options: PgConnectOptions,
    /// The test's own connections.
    observer: PgPool,
}

/// The options that `DATABASE_URL` spells.
fn server() -> PgConnectOptions {
    let url = env::var("DATABASE_URL").expect(
        "these tests need a PostgreSQL server: run `scripts/test`, or set DATABASE_URL to postgres://… with \
         the right to create schemas and databases",
    );
    url.parse().expect("DATABASE_URL is a postgres:// URL")
}

/// Runs a statement that concerns the whole server.
async fn on_the_server(sql: String) {
    let mut connection = server().connect().await.expect("the server of DATABASE_URL accepts connections");
    let done = sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await;
    done.expect("the user of DATABASE_URL may create and drop databases");
}

/// A name that no other test of this run has, in any process.
fn unique(prefix: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

impl PgPlace {
    /// The place in a database of its own instead of a schema, for programs that are only told a URL.
    ///
    /// # Panics
    /// If the database cannot be created.
    pub async fn database() -> Self {
        let name = unique("idem");
        on_the_server(format!("CREATE DATABASE {name}")).await;
        Self::at("public".to_owned(), Some(name.clone()), server().database(&name))
    }

    /// The place in a schema of a server that is the test's own.
    ///
    /// # Panics
    /// The future panics if the server is not there.
    pub async fn on(server: &OwnServer) -> Self {
        let options = server.url().parse().expect("the URL can be read");
        let place = Self::at(unique("t"), None, options);
        place.execute(&format!("CREATE SCHEMA {}", place.schema)).await;
        place
    }

    fn at(schema: String, own_database: Option<String>, options: PgConnectOptions) -> Self {
        let options = options.options([("search_path", &schema)]);
        let observer = options.clone().application_name(OBSERVER);
        let observer = PgPoolOptions::new().max_connections(2).connect_lazy_with(observer);
        let options = options.application_name(&schema);
        Self { lookup_options: options.clone(), options, schema, own_database, observer }
    }

    /// The same place, in a database of its own, whose application connects with `options`, look-ups excepted.
    ///
    /// # Panics
    /// If the place is a schema: `options` need not say which.
    #[must_use]
    pub(super) fn connected_with(self, options: PgConnectOptions) -> Self {
        let database = self.own_database.as_deref().expect("a database of its own");
        let options = options.database(database).application_name(&self.schema);
        Self { options, ..self }
    }

    /// The schema that the tables are in.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The same place, with a parameter set in every session of the application.
    #[must_use]
    pub fn with_parameter(mut self, parameter: &str, value: &str) -> Self {
        self.options = self.options.options([(parameter, value)]);
        self
    }

    /// A role that is no superuser and may use the application's tables and the key table, and no more.
    /// Roles belong to the whole server: this one is made by the first test that asks, and stays.
    ///
    /// # Panics
    /// The future panics if roles cannot be made.
    pub async fn role_with_the_tables(&self) -> String {
        let role = "idem_tests_application".to_owned();
        let schema = &self.schema;
        for sql in [
            format!(
                "DO $$ BEGIN CREATE ROLE {role}; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$"
            ),
            format!("GRANT USAGE ON SCHEMA {schema} TO {role}"),
            format!("GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA {schema} TO {role}"),
        ] {
            self.execute(&sql).await;
        }
        role
    }

    /// The condition on `pg_stat_activity` that holds for the application's sessions of this place.
    #[must_use]
    pub fn sessions(&self) -> String {
        match &self.own_database {
            Some(_) => format!("datname = current_database() AND application_name <> '{OBSERVER}'"),
            None => format!("datname = current_database() AND application_name = '{}'", self.schema),
        }
    }

    /// Ends every session of the application that is inside a transaction, and returns how many.
    pub async fn terminate_transactions(&self) -> i64 {
        self.integer(&format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE {} AND xact_start IS NOT NULL",
            self.sessions()
        ))
        .await
    }

    /// Ends every session of the application, and returns how many.
    pub async fn terminate_sessions(&self) -> i64 {
        let sessions = self.sessions();
        self.integer(&format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {sessions}"
        ))
        .await
    }

    /// How many sessions the application has.
    pub async fn count_sessions(&self) -> i64 {
        let sessions = self.sessions();
        self.integer(&format!("SELECT count(*) FROM pg_stat_activity WHERE {sessions}")).await
    }

    /// The server's address.
    ///
    /// # Panics
    /// If it has none, as a host name that does not resolve.
    pub async fn address(&self) -> SocketAddr {
        let host = (self.options.get_host(), self.options.get_port());
        let mut addresses = tokio::net::lookup_host(host).await.expect("the server's host name resolves");
        addresses.next().expect("the server has an address")
    }

    /// The URL of this place for another program, through the proxy at `via` if there is one.
    #[must_use]
    pub fn url(&self, via: Option<SocketAddr>) -> String {
        self.options_via(via).to_url_lossy().to_string()
    }

    /// How many of the application's sessions are inside a transaction.
    pub async fn sessions_in_transaction(&self) -> i64 {
        let sessions = self.sessions();
        self.integer(&format!(
            "SELECT count(*) FROM pg_stat_activity WHERE {sessions} AND xact_start IS NOT NULL"
        ))
        .await
    }

    /// The options that a session of the application connects with.
    #[must_use]
    pub fn options(&self) -> PgConnectOptions {
        self.options.clone()
    }

    fn options_via(&self, via: Option<SocketAddr>) -> PgConnectOptions {
        match via {
            Some(proxy) => self.options.clone().host(&proxy.ip().to_string()).port(proxy.port()),
            None => self.options.clone(),
        }
    }

    fn key_row(row: &PgRow) -> sqlx::Result<KeyRow> {
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

impl Place for PgPlace {
    type Database = Postgres;

    async fn create() -> Self {
        let place = Self::at(unique("t"), None, server());
        place.execute(&format!("CREATE SCHEMA {}", place.schema)).await;
        place
    }

    fn with_every_statement_slow(mut self) -> Self {
        self.options = self.options.log_slow_statements("WARN".parse().expect("a level"), Duration::ZERO);
        self
    }

    async fn connect(&self, connections: u32, via: Option<SocketAddr>) -> Connected<Postgres> {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(10))
            .connect_lazy_with(self.options_via(via));
        let builder = Idempotency::builder(pool.clone()).table(self.key_table());
        Connected { builder, writer: pool.clone(), reader: pool }
    }

    async fn lookups(&self) -> ReadOnly<PgPool> {
        let pool = PgPoolOptions::new().max_connections(2);
        let lookups = ReadOnly::<PgPool>::connect(pool, self.lookup_options.clone()).await;
        lookups.expect("the server accepts connections")
    }

    fn pool(&self) -> &PgPool {
        &self.observer
    }

    async fn key_rows(&self) -> Vec<KeyRow> {
        let sql = format!(
            "SELECT uuid_send(id) AS id, scope, key, fingerprint, fingerprint_version::bigint,
                    response_status::bigint, response_headers, response_body,
                    (extract(epoch FROM created_at) * 1000000)::bigint AS created_at,
                    (extract(epoch FROM completed_at) * 1000000)::bigint AS completed_at,
                    (extract(epoch FROM expires_at) * 1000000)::bigint AS expires_at
             FROM {} ORDER BY created_at, id",
            self.key_table()
        );
        let rows = soon(sqlx::query(AssertSqlSafe(sql)).fetch_all(&self.observer)).await;
        let rows = rows.expect("the key table can be read");
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
        self.integer("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").await
    }

    fn time(seconds: i64) -> String {
        format!("now() + interval '{seconds} seconds'")
    }

    async fn expire_as_reservations_begin(&self) {
        let (schema, table) = (&self.schema, self.key_table());
        // Only the rows of earlier transactions: a serializable run completes its own by an INSERT.
        self.execute(&format!(
            "CREATE FUNCTION {schema}.expire() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN UPDATE {table} SET expires_at = now() WHERE created_at < now(); RETURN NULL; END $$"
        ))
        .await;
        self.execute(&format!(
            "CREATE TRIGGER expire BEFORE INSERT ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {schema}.expire()"
        ))
        .await;
    }

    fn key_table(&self) -> String {
        format!("{}.idempotency_keys", self.schema)
    }

    fn filling(table: &str, prefix: &str, count: u32, seconds: i64) -> String {
        let last = Self::time(seconds);
        format!(
            "INSERT INTO {table} (id, scope, key, fingerprint, fingerprint_version, response_status,
                 response_headers, response_body, created_at, completed_at, expires_at)
             SELECT md5('{prefix}' || n)::uuid, 'tenant=t1&endpoint=POST%20/orders', '{prefix}-' || n,
                 sha256(n::text::bytea), 1, 201, '\\x', convert_to('{{\"id\":' || n || '}}', 'UTF8'),
                 now() - interval '1 day', now() - interval '1 day',
                 {last} - ({count} - n) * interval '1 millisecond'
             FROM generate_series(1, {count}) AS n"
        )
    }

    async fn refuse_to_delete(&self, key: &str) {
        let (schema, table) = (&self.schema, self.key_table());
        self.execute(&format!(
            "CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE 'this row is to stay'; END $$"
        ))
        .await;
        self.execute(&format!(
            "CREATE TRIGGER refuse BEFORE DELETE ON {table} FOR EACH ROW WHEN (OLD.key = '{key}')
             EXECUTE FUNCTION {schema}.refuse()"
        ))
        .await;
    }

    async fn deletes_again(&self) {
        self.execute(&format!("DROP FUNCTION {}.refuse CASCADE", self.schema)).await;
    }

    async fn assert_whole(&self, pool: &PgPool) {
        let mut connections = Vec::new();
        for _ in 0..pool.options().get_max_connections() {
            connections.push(soon(pool.acquire()).await.expect("every connection of the pool can be had"));
        }
        for connection in &mut connections {
            // In a transaction of its own, a statement begins when its transaction does.
            let sql = "SELECT now() = statement_timestamp()";
            // As a simple query: the extended protocol begins the transaction earlier, at its first message.
            let row =
                soon(sqlx::raw_sql(sql).fetch_one(&mut **connection)).await.expect("the connection works");
            assert!(row.get::<bool, _>(0), "a pooled connection is inside a transaction");
        }
    }

    async fn remove(self) {
        eventually(async || self.sessions_in_transaction().await == 0).await;
        if let Some(name) = &self.own_database {
            let locks = "SELECT count(*) FROM pg_locks
                         WHERE locktype = 'advisory'
                           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
            assert_eq!(self.integer(locks).await, 0, "no advisory lock outlives its transaction");
            self.observer.close().await;
            on_the_server(format!("DROP DATABASE {name} WITH (FORCE)")).await;
            return;
        }
        let strays = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
        assert_eq!(self.integer(strays).await, 0, "nothing is created outside the test's own schema");
        self.execute(&format!("DROP SCHEMA {} CASCADE", self.schema)).await;
        self.observer.close().await;
    }
}
