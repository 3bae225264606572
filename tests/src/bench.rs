//! One test's place to work: an empty database, and the servers started on it.

use std::future::ready;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use idem_examples::reference::{App, Probe, create_tables, routes};
use idem_runtime::Builder;
use sqlx::{Pool, Postgres, Sqlite};

use crate::database::{Connected, KeyRow, PgPlace, Place, TestDatabase};
use crate::patience::within;
use crate::proxy::PgProxy;
use crate::server::Server;

/// The longest that one test may take.
const TEST_LIMIT: Duration = Duration::from_mins(2);

/// An empty database, and what runs on it.
#[derive(Debug)]
pub struct Bench<DB: TestDatabase> {
    /// Where the tables are.
    pub place: DB::Place,
    /// What every engine on this bench is set to beside its test's own settings.
    engine: fn(Builder<DB>) -> Builder<DB>,
    pools: Mutex<Vec<Pool<DB>>>,
    proxies: Mutex<Vec<Arc<PgProxy>>>,
}

/// Runs one test on an empty database, then checks that it left every pool whole and nothing elsewhere.
///
/// # Panics
/// The future panics if the test does, takes longer than two minutes, or leaves something behind.
pub async fn run<DB: TestDatabase>(test: impl AsyncFnOnce(&Bench<DB>)) {
    run_with(|builder| builder, test).await;
}

/// Like [`run`], for what may take longer.
///
/// # Panics
/// As [`run`], with `limit` in place of two minutes.
pub async fn run_at_most<DB: TestDatabase>(limit: Duration, test: impl AsyncFnOnce(&Bench<DB>)) {
    run_within(DB::Place::create(), |builder| builder, limit, test).await;
}

/// Like [`run`], with every engine set up by `engine` first.
///
/// # Panics
/// As [`run`].
pub async fn run_with<DB: TestDatabase>(
    engine: fn(Builder<DB>) -> Builder<DB>,
    test: impl AsyncFnOnce(&Bench<DB>),
) {
    run_at(DB::Place::create(), engine, test).await;
}

/// Like [`run`], on PostgreSQL, in a database of its own: for programs that are only told a URL.
///
/// # Panics
/// As [`run`].
pub async fn run_on_own_database(test: impl AsyncFnOnce(&Bench<Postgres>)) {
    run_on_own_database_within(TEST_LIMIT, test).await;
}

/// Like [`run_on_own_database`], for a test that may take longer, or has to be done sooner.
///
/// # Panics
/// As [`run`], with `limit` in place of two minutes.
pub async fn run_on_own_database_within(limit: Duration, test: impl AsyncFnOnce(&Bench<Postgres>)) {
    run_within(PgPlace::database(), |builder| builder, limit, test).await;
}

/// Like [`run`], at a place that is made already.
///
/// # Panics
/// As [`run`].
pub async fn run_on<DB: TestDatabase>(place: DB::Place, test: impl AsyncFnOnce(&Bench<DB>)) {
    run_at(ready(place), |builder| builder, test).await;
}

/// Like [`run_with`], at a place of another kind than the usual.
///
/// # Panics
/// As [`run`].
pub async fn run_at<DB: TestDatabase>(
    place: impl Future<Output = DB::Place>,
    engine: fn(Builder<DB>) -> Builder<DB>,
    test: impl AsyncFnOnce(&Bench<DB>),
) {
    run_within(place, engine, TEST_LIMIT, test).await;
}

async fn run_within<DB: TestDatabase>(
    place: impl Future<Output = DB::Place>,
    engine: fn(Builder<DB>) -> Builder<DB>,
    limit: Duration,
    test: impl AsyncFnOnce(&Bench<DB>),
) {
    let place = place.await;
    let bench = Bench { place, engine, pools: Mutex::default(), proxies: Mutex::default() };
    within(limit, test(&bench)).await;

    let pools = bench.pools.into_inner().unwrap_or_else(PoisonError::into_inner);
    let _proxies = bench.proxies;
    for pool in &pools {
        if !pool.is_closed() {
            bench.place.assert_whole(pool).await;
        }
        pool.close().await;
    }
    bench.place.remove().await;
}

impl<DB: TestDatabase> Bench<DB> {
    /// Begins to start a server on this database, as one more process of the application.
    pub fn server(&self) -> Launch<'_, DB> {
        Launch {
            bench: self,
            place: self.place.clone(),
            connections: 10,
            via: None,
            engine: Box::new(|builder| builder),
            router: Box::new(|app| routes::<DB, App<DB>>().with_state(app)),
            wrap: Box::new(|router| router),
            migrate: true,
        }
    }

    /// A server of the reference application with the default settings.
    pub async fn start(&self) -> Server<DB> {
        self.server().start().await
    }

    /// The key rows, oldest first.
    pub async fn key_rows(&self) -> Vec<KeyRow> {
        self.place.key_rows().await
    }

    /// The only key row.
    ///
    /// # Panics
    /// The future panics if there is none or more than one.
    pub async fn key_row(&self) -> KeyRow {
        let rows = self.key_rows().await;
        assert_eq!(rows.len(), 1, "one key row, not {rows:?}");
        rows.into_iter().next().expect("it was counted")
    }

    /// The number of rows of a table.
    pub async fn count(&self, table: &str) -> i64 {
        self.place.integer(&format!("SELECT count(*) FROM {table}")).await
    }

    /// Fills the key table with `count` completed rows, their keys `{prefix}-1` and on, each of which expires a
    /// millisecond after the one before it and the last one `seconds` from now.
    pub async fn fill(&self, prefix: &str, count: u32, seconds: i64) {
        let table = self.place.key_table();
        self.place.execute(&DB::Place::filling(&table, prefix, count, seconds)).await;
    }

    /// The number of key rows.
    pub async fn count_keys(&self) -> i64 {
        self.count(&self.place.key_table()).await
    }

    /// The id of the only row of `table` in which `column` is `name`.
    ///
    /// # Panics
    /// The future panics if there is none or more than one.
    pub async fn only_row(&self, table: &str, column: &str, name: &str) -> i64 {
        let rows = format!("FROM {table} WHERE {column} = '{name}'");
        assert_eq!(self.place.integer(&format!("SELECT count(*) {rows}")).await, 1, "rows of {name}");
        self.place.integer(&format!("SELECT id {rows}")).await
    }

    /// Asserts what the cases write as `keys=…, orders=…`: how many key rows there are, each with an answer,
    /// and how many orders.
    ///
    /// # Panics
    /// The future panics if it is otherwise.
    pub async fn assert_holds(&self, completed_keys: usize, orders: i64) {
        let rows = self.key_rows().await;
        assert_eq!(rows.len(), completed_keys, "key rows: {rows:?}");
        assert!(rows.iter().all(KeyRow::is_completed), "every key row has its answer: {rows:?}");
        assert_eq!(self.count("orders").await, orders, "orders");
    }

    /// Asserts that the newest order has this id, and that there are so many of them.
    ///
    /// # Panics
    /// The future panics if it is otherwise.
    pub async fn assert_newest_order(&self, id: i64, orders: i64) {
        assert_eq!(self.place.integer("SELECT max(id) FROM orders").await, id);
        assert_eq!(self.count("orders").await, orders);
    }

    /// Sets `expires_at` of every key row to so many seconds from now by the database's clock; negative is
    /// in the past.
    pub async fn expire_in(&self, seconds: i64) {
        let (table, time) = (self.place.key_table(), DB::Place::time(seconds));
        self.place.execute(&format!("UPDATE {table} SET expires_at = {time}")).await;
    }
}

impl Bench<Postgres> {
    /// A proxy to the database that stays until the test's last checks.
    pub async fn proxy(&self) -> Arc<PgProxy> {
        let proxy = Arc::new(PgProxy::start(self.place.address().await).await);
        self.proxies.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&proxy));
        proxy
    }

    /// A server of the reference application whose connections lead through a proxy.
    pub async fn start_behind_a_proxy(&self) -> (Server<Postgres>, Arc<PgProxy>) {
        let proxy = self.proxy().await;
        let server = self.server().through(&proxy).start().await;
        (server, proxy)
    }
}

/// A change to the engine's settings.
type EngineSettings<DB> = Box<dyn FnOnce(Builder<DB>) -> Builder<DB> + Send>;

/// A router made of the application's state.
type MakeRouter<DB> = Box<dyn FnOnce(App<DB>) -> Router + Send>;

/// The settings of a server to be started.
#[must_use = "a launch starts nothing until `start` is called"]
pub struct Launch<'b, DB: TestDatabase> {
    bench: &'b Bench<DB>,
    place: DB::Place,
    connections: u32,
    via: Option<SocketAddr>,
    engine: EngineSettings<DB>,
    router: MakeRouter<DB>,
    wrap: Box<dyn FnOnce(Router) -> Router + Send>,
    migrate: bool,
}

impl<DB: TestDatabase> Launch<'_, DB> {
    /// The size of its pool, where the database has one for writes; 10 if not given.
    pub fn connections(mut self, connections: u32) -> Self {
        self.connections = connections;
        self
    }

    /// Changes the engine's settings.
    pub fn engine(mut self, settings: impl FnOnce(Builder<DB>) -> Builder<DB> + Send + 'static) -> Self {
        self.engine = Box::new(settings);
        self
    }

    /// Other routes than the reference application's.
    pub fn routes(self, routes: Router<App<DB>>) -> Self {
        self.router(|app| routes.with_state(app))
    }

    /// A router with a state of its own kind.
    pub fn router(mut self, router: impl FnOnce(App<DB>) -> Router + Send + 'static) -> Self {
        self.router = Box::new(router);
        self
    }

    /// Layers around the routes.
    pub fn wrap(mut self, wrap: impl FnOnce(Router) -> Router + Send + 'static) -> Self {
        self.wrap = Box::new(wrap);
        self
    }

    /// Does not create the key table.
    pub fn unmigrated(mut self) -> Self {
        self.migrate = false;
        self
    }

    /// Makes the router's state without serving it.
    ///
    /// # Panics
    /// The future panics if the database cannot be prepared.
    pub async fn app(self) -> App<DB> {
        Box::pin(self.prepare()).await.0
    }

    /// Starts the server.
    ///
    /// # Panics
    /// The future panics if the database cannot be prepared or no port is free.
    pub async fn start(self) -> Server<DB> {
        // Boxed, or every test's future has room for all of it.
        let (app, router) = Box::pin(self.prepare()).await;
        Server::start(app, router).await
    }

    async fn prepare(self) -> (App<DB>, Router) {
        let Connected { builder, writer, reader } = self.place.connect(self.connections, self.via).await;
        let builder = (self.engine)((self.bench.engine)(builder));
        let idempotency = builder.build().expect("the settings are valid");
        if self.migrate {
            idempotency.migrate().await.expect("the key table can be created");
        }
        let created = create_tables(self.place.pool()).await;
        created.expect("the application's tables can be created");

        self.bench.pools.lock().unwrap_or_else(PoisonError::into_inner).push(writer.clone());
        let app = App { idempotency, writer, reader, probe: Probe::default() };
        let router = (self.wrap)((self.router)(app.clone()));
        (app, router)
    }
}

impl Launch<'_, Postgres> {
    /// Connects to the database through a proxy.
    pub fn through(mut self, proxy: &PgProxy) -> Self {
        self.via = Some(proxy.address());
        self
    }

    /// Sets a parameter in every session of the server's pool.
    pub fn session(mut self, parameter: &str, value: &str) -> Self {
        self.place = self.place.with_parameter(parameter, value);
        self
    }
}

impl Launch<'_, Sqlite> {
    /// Opens the file read-only.
    pub fn read_only(mut self) -> Self {
        self.place = self.place.read_only();
        self
    }
}

impl<DB: TestDatabase> std::fmt::Debug for Launch<'_, DB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch").field("connections", &self.connections).finish_non_exhaustive()
    }
}
