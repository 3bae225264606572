//! What a history asks of the database beside what the application does.

use sqlx::{AssertSqlSafe, PgConnection, Postgres, Row as _};

use super::operation::ScopedKey;
use super::record::{Effect, Expiry, Record, Recorder};
use crate::bench::Bench;
use crate::database::{PgPlace, Place as _};
use crate::patience::soon;

/// Every business row with the operation that it names, and every addition to a counter.
const EFFECTS: &str = "
    SELECT tenant, item AS operation, id AS number FROM orders
    UNION ALL SELECT tenant, item, id FROM refunds
    UNION ALL SELECT tenant, note, id FROM audit
    UNION ALL SELECT tenant, tenant || '/charges/k-' || account || '/v' || amount, id FROM charges
    UNION ALL SELECT tenant, tenant || '/counters/k-' || id / 10 || '/v' || id % 10, nth
                FROM counters, generate_series(1, n) AS nth";

/// Reads the effects whose operation's text begins with `prefix`.
async fn effects(connection: &mut PgConnection, prefix: &str) -> Vec<Effect> {
    let sql =
        format!("SELECT * FROM ({EFFECTS}) AS effects WHERE starts_with(operation, $1) ORDER BY number");
    let rows = soon(sqlx::query(AssertSqlSafe(sql)).bind(prefix.to_owned()).fetch_all(connection)).await;
    let rows = rows.expect("the application's tables can be read");
    let effect = |row: &sqlx::postgres::PgRow| Effect {
        of: row.get::<String, _>("operation").parse().expect("every row names an operation of the history"),
        tenant: row.get("tenant"),
        number: row.get("number"),
    };
    rows.iter().map(effect).collect()
}

/// All effects there are.
///
/// # Panics
/// The future panics if the database cannot be read.
pub async fn all_effects(place: &PgPlace) -> Vec<Effect> {
    let mut connection = soon(place.pool().acquire()).await.expect("the test's own connection");
    effects(&mut connection, "").await
}

/// All key rows there are.
///
/// # Panics
/// The future panics if the database cannot be read.
pub async fn all_records(bench: &Bench<Postgres>) -> Vec<Record> {
    let now = bench.place.clock().await;
    let record = |row: crate::database::KeyRow| Record {
        is_live: row.expires_at > now,
        answer: row.is_completed().then(|| row.status.zip(row.body)).flatten(),
        row: (row.scope, row.key),
    };
    bench.key_rows().await.into_iter().map(record).collect()
}

/// Makes the row of a key expire, if it has an answer, and notes what the key has brought about so far.
///
/// As long as this transaction is open, others still see the row live, so nobody runs. What it reads is therefore all
/// that belongs to the time before, and nothing of what comes after.
///
/// # Panics
/// The future panics if the database cannot be written.
pub async fn expire(place: &PgPlace, recorder: &Recorder, at: ScopedKey) {
    let (scope, key) = at.row();
    let began = recorder.now();
    let mut transaction = soon(place.pool().begin()).await.expect("the test's own connection");
    // Long ago, so that it has expired for transactions too that have begun before.
    let sql = format!(
        "UPDATE {} SET expires_at = now() - interval '1 hour'
         WHERE scope = $1 AND key = $2 AND expires_at > now() AND response_status IS NOT NULL",
        place.key_table()
    );
    let expire = sqlx::query(AssertSqlSafe(sql)).bind(scope).bind(key);
    let expired = soon(expire.execute(&mut *transaction)).await.expect("a row can be made to expire");
    let effects = effects(&mut transaction, &format!("{at}/")).await;
    #[expect(clippy::disallowed_methods, reason = "every statement of the transaction succeeded")]
    soon(transaction.commit()).await.expect("the test's own transaction commits");
    if expired.rows_affected() > 0 {
        let ended = recorder.now();
        recorder.history().expiries.push(Expiry { at, began, ended, effects });
    }
}

/// Has the server end one of the sessions of this name, one in a transaction if there is any.
///
/// # Panics
/// The future panics if the server refuses.
pub async fn terminate_one(place: &PgPlace, sessions: &str) {
    let sql = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM
         (SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = '{sessions}'
          ORDER BY xact_start IS NULL, random() LIMIT 1) AS one"
    );
    place.integer(&sql).await;
}
