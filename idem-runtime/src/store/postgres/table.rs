//! The table itself: made where it is missing, and checked.

use sqlx::error::DatabaseError;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Error, Executor as _, PgPool, Row};

use super::super::Settings;
use super::super::table::IndexSchema;
use crate::scope::lock_id;

const CREATE: &str = include_str!("../../../migrations/postgres/0001_create_idempotency_keys.up.sql");

/// How often a migration begins again after another process was quicker. Each time that process has committed, so
/// one retry will do, unless the table is dropped meanwhile.
const MIGRATION_RETRIES: usize = 3;

pub(super) async fn migrate(pool: &PgPool, settings: &Settings) -> Result<(), Error> {
    for _ in 0..MIGRATION_RETRIES {
        match create(pool, settings).await {
            Err(error) if is_created_meanwhile(&error) => {}
            created => return created,
        }
    }
    create(pool, settings).await
}

async fn create(pool: &PgPool, settings: &Settings) -> Result<(), Error> {
    let table = &settings.table;
    let script = table.migration(CREATE, IndexSchema::OfItsTable);
    let mut transaction = pool.begin().await?;
    // One migration at a time: two CREATE TABLE IF NOT EXISTS at once can still collide in the catalogue.
    if settings.advisory_locks {
        let lock_id = lock_id(table.qualified(), &[0; 16]);
        let lock = format!("SELECT pg_advisory_xact_lock({lock_id})");
        sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut *transaction).await?;
    }
    if let Err(error) = sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut *transaction).await {
        // Awaited, so that the next attempt does not find the connection in a transaction that failed.
        transaction.rollback().await?;
        return Err(error);
    }
    #[expect(clippy::disallowed_methods, reason = "every statement of the transaction succeeded")]
    transaction.commit().await
}

/// Whether a `CREATE … IF NOT EXISTS` met the same statement of another process, which without advisory locks it may:
/// `unique_violation` in the catalogue, `duplicate_object` or `duplicate_table`.
fn is_created_meanwhile(error: &Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    code.is_some_and(|code| matches!(&*code, "23505" | "42710" | "42P07"))
}

/// What the table must be like for the guarantees to hold, each with the words for an operator.
pub(super) async fn check(connection: &mut PgConnection, table: &str) -> Result<Option<String>, Error> {
    const EXPECTED: [&str; 11] = [
        "id uuid",
        "scope text",
        "key text",
        "fingerprint bytea",
        "fingerprint_version smallint",
        "response_status smallint",
        "response_headers bytea",
        "response_body bytea",
        "created_at timestamp with time zone",
        "completed_at timestamp with time zone",
        "expires_at timestamp with time zone",
    ];

    // The name is validated, so it needs no escape; as part of the text it makes this one message, which any pooler
    // sends to one server.
    let catalogue = format!(
        "SELECT c.relkind = 'r' AND c.relpersistence = 'p' AS permanent,
               EXISTS (SELECT FROM pg_index i
                        WHERE i.indrelid = c.oid AND i.indisprimary AND i.indimmediate AND i.indisvalid
                          AND i.indnkeyatts = 1
                          AND i.indkey[0] = (SELECT attnum FROM pg_attribute
                                              WHERE attrelid = c.oid AND attname = 'id')) AS keyed,
               row_security_active(c.oid) AS secured,
               has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
                   AND has_table_privilege(c.oid, 'UPDATE') AS allowed,
               ARRAY(SELECT attname || ' ' || format_type(atttypid, NULL) FROM pg_attribute
                      WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns
          FROM pg_class c WHERE c.oid = to_regclass('{table}')"
    );
    let Some(row) = connection.fetch_optional(sqlx::raw_sql(AssertSqlSafe(catalogue))).await? else {
        return Ok(Some(format!(
            "the table {table} does not exist, or this role may not see it: run `migrate()`"
        )));
    };
    let columns: Vec<String> = row.try_get("columns")?;
    if let Some(missing) = EXPECTED.iter().find(|expected| !columns.iter().any(|column| column == *expected))
    {
        return Ok(Some(format!("the table {table} has no column `{missing}`")));
    }
    let complaint = if !row.try_get::<bool, _>("permanent")? {
        "is not an ordinary, permanent table: its rows might not survive a crash together with the writes they stand for"
    } else if !row.try_get::<bool, _>("keyed")? {
        "has no primary key on `id` alone that is checked at once (not deferrable): two requests could both run"
    } else if row.try_get::<bool, _>("secured")? {
        "has row-level security that applies to this role: a hidden row would let a request run twice"
    } else if !row.try_get::<bool, _>("allowed")? {
        "does not grant SELECT, INSERT and UPDATE to this role"
    } else {
        return Ok(None);
    };
    Ok(Some(format!("the table {table} {complaint}")))
}
