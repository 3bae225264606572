//! PgBouncer in transaction mode between the application and PostgreSQL.

use std::env;

use idem_runtime::Builder;
use sqlx::Postgres;

use super::PgPlace;

/// The URL of the PgBouncer that the tests go through.
///
/// # Panics
/// If there is none.
fn url() -> String {
    env::var("PGBOUNCER_URL").expect(
        "these tests go through a PgBouncer in transaction mode: run `scripts/test`, or set PGBOUNCER_URL to \
         the postgres:// URL of one that leads to the server of DATABASE_URL, whatever the database's name; with \
         `?statement-cache-capacity=0` if it knows no prepared statements",
    )
}

/// Whether it knows prepared statements.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn knows_prepared_statements() -> bool {
    !url().contains("statement-cache-capacity=0")
}

/// A database of its own, to which the application's pools lead through PgBouncer.
///
/// Its pools for look-ups do not, since PgBouncer takes no start-up option that makes a session read-only; nor do
/// the test's own connections.
///
/// # Panics
/// If there is no PgBouncer to go through, or the database cannot be created.
pub async fn create() -> PgPlace {
    let options = url().parse().expect("PGBOUNCER_URL is a postgres:// URL");
    PgPlace::database().await.connected_with(options)
}

/// The engine's settings for it.
///
/// # Panics
/// If there is no PgBouncer to go through.
pub fn engine(builder: Builder<Postgres>) -> Builder<Postgres> {
    builder.prepared_statements(knows_prepared_statements())
}
