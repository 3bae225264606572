//! The text of the statements, in the order of a request's life.

use std::time::Duration;

use uuid::Uuid;

use super::super::{Isolation, Settings};

/// How long a statement waits for another request's row where advisory locks are off. Below 50 ms, requests with
/// keys of their own fail now and then while the table grows.
const LOCK_TIMEOUT: &str = "100ms";

/// How much longer than the run limit the server lets a transaction sit idle, or a statement run. A run ends itself
/// before; the server's end is for a host that froze, and for the statement of a handler that was stopped, which
/// would hold the key for as long as it goes on.
pub(super) const MARGIN: Duration = Duration::from_secs(5);

/// The server's time-outs that bound a run.
const TIME_OUTS: [&str; 2] = ["idle_in_transaction_session_timeout", "statement_timeout"];

/// What stands in `idempotency.run` in the transaction of a run without a key.
pub(super) const WITHOUT_KEY: &str = "without key";

/// The setting that names the first message that a transaction has claimed. It ends with the transaction, so what it
/// says is of this one.
const CLAIMS: &str = "idempotency.inbox";

/// Reads the setting of that name.
pub(super) const FIRST_CLAIM: &str = "SELECT current_setting('idempotency.inbox', true)";

/// Reads whether the transaction is the one that [`begin_without_key`] began.
pub(super) const RUN_WITHOUT_KEY: &str = "SELECT current_setting('idempotency.run', true)";

/// Opens the transaction of a run.
pub(super) fn begin(isolation: Option<Isolation>) -> &'static str {
    match isolation {
        None => "BEGIN",
        Some(Isolation::ReadCommitted) => "BEGIN ISOLATION LEVEL READ COMMITTED",
        Some(Isolation::RepeatableRead) => "BEGIN ISOLATION LEVEL REPEATABLE READ",
        Some(Isolation::Serializable) => "BEGIN ISOLATION LEVEL SERIALIZABLE",
    }
}

/// The same for a run without a key, with the settings that the reserving statement makes for one with a key.
///
/// In one message with BEGIN. It holds nothing that can fail, because sqlx would give the connection back inside the
/// transaction.
pub(super) fn begin_without_key(isolation: Option<Isolation>, limit_ms: i64) -> String {
    let run = format!(", set_config('idempotency.run', '{WITHOUT_KEY}', true)");
    format!("{}; {}", begin(isolation), lowered(&limit_ms.to_string(), &run))
}

/// Lowers the time-outs of the transaction to a limit in milliseconds where they are longer, as columns of one row.
fn lowered(limit_ms: &str, also: &str) -> String {
    let lower = |name: &str| {
        format!(
            "CASE WHEN {name} = interval '0' OR {name} > {limit_ms}::bigint * interval '1 millisecond' \
             THEN set_config('{name}', {limit_ms}::bigint::text, true) END"
        )
    };
    let [idle, statement] = TIME_OUTS.map(lower);
    let [idle_now, statement_now] =
        TIME_OUTS.map(|name| format!("current_setting('{name}')::interval AS {name}"));
    format!("SELECT {idle}, {statement}{also} FROM (SELECT {idle_now}, {statement_now}) AS session")
}

/// The text of the statements.
///
/// `$1` to `$7` are the same in all that reserve: id, scope, key, fingerprint, its version, the TTL in seconds, and
/// the advisory lock's id. `$8` of the reserving statement itself is the server's time-outs in milliseconds.
pub(super) struct Sql<'a> {
    pub(super) table: &'a str,
    pub(super) settings: &'a Settings,
}

impl Sql<'_> {
    /// Takes the advisory lock until COMMIT or ROLLBACK without waiting for it; always had where such locks are off.
    fn try_lock(&self, parameter: &str) -> String {
        if self.settings.advisory_locks {
            format!("pg_try_advisory_xact_lock({parameter}::bigint)")
        } else {
            format!("({parameter}::bigint IS NOT NULL)")
        }
    }

    /// The id of the current transaction, which it is given here if it has none yet.
    fn transaction(&self) -> &'static str {
        if self.settings.xmin_check {
            "pg_current_xact_id()::xid::text"
        } else {
            "current_setting('idempotency.run')"
        }
    }

    /// The id of the current transaction, null if it has none.
    pub(super) fn current_transaction(&self) -> &'static str {
        if self.settings.xmin_check {
            "pg_current_xact_id_if_assigned()::xid::text"
        } else {
            "current_setting('idempotency.run', true)"
        }
    }

    /// What a reserving statement gives back: where the row is, who wrote it, when.
    fn mark(&self) -> String {
        // A server without `xmin` has no `ctid` either.
        let ctid = if self.settings.xmin_check { "ctid::text" } else { "''" };
        format!(
            "{ctid} AS ctid, {} AS transaction, \
             (extract(epoch FROM created_at) * 1000000)::bigint AS created_at_micros, \
             current_setting('transaction_isolation') = 'serializable' AS is_serializable, {AGE}",
            self.transaction()
        )
    }

    /// The settings of a reserving transaction, as columns of one row. All of them end with the transaction.
    ///
    /// The two time-outs are only ever lowered, so that shorter ones of the application's stay. `lock_timeout` is put
    /// back by [`bounded`](Self::bounded).
    fn setup(&self) -> String {
        let run = if self.settings.xmin_check {
            String::new()
        } else {
            // A setting that is local to the transaction stands in for its id: it is gone after COMMIT.
            ", set_config('idempotency.run', $1::uuid::text, true)".to_owned()
        };
        lowered("$8", &run)
    }

    /// Wraps a statement that may meet another transaction's row. `body` writes, reads from `setup` and returns.
    ///
    /// With advisory locks it meets none of another request's. Without, the wait is bounded here and the session's own bound is put back in the same statement.
    fn bounded(&self, setup: &str, body: &str, columns: &str) -> String {
        if self.settings.advisory_locks {
            return format!("WITH setup AS MATERIALIZED ({setup}) {body}");
        }
        format!(
            "WITH prior AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout), \
             bound AS MATERIALIZED (SELECT set_config('lock_timeout', '{LOCK_TIMEOUT}', true) FROM prior), \
             setup AS MATERIALIZED (SELECT s.* FROM bound, ({setup}) AS s), \
             written AS ({body}) \
             SELECT {columns}, set_config('lock_timeout', prior.lock_timeout, true) \
             FROM prior LEFT JOIN written ON true"
        )
    }

    /// One row: reserved. No row: another request holds or has the key.
    ///
    /// Locks: the advisory lock of the key, and the new row, both until the transaction ends.
    pub(super) fn reserve(&self) -> String {
        let body = format!(
            "INSERT INTO {table} (id, scope, key, fingerprint, fingerprint_version, created_at, expires_at) \
             SELECT $1::uuid, $2::text, $3::text, $4::bytea, $5::smallint, now(), \
                    now() + make_interval(secs => $6::double precision) \
             FROM setup WHERE {lock} \
             ON CONFLICT (id) DO NOTHING RETURNING {mark}",
            table = self.table,
            lock = self.try_lock("$7"),
            mark = self.mark(),
        );
        self.bounded(&self.setup(), &body, "written.*")
    }

    /// The row, live or not, and whether the key's advisory lock is ours. Locks nothing else.
    pub(super) fn look_up(&self) -> String {
        format!(
            "SELECT lock.holds_lock, k.expires_at > now() AS live, {AGE}, {columns} \
             FROM (SELECT {lock} AS holds_lock) AS lock LEFT JOIN {table} AS k ON k.id = $1::uuid",
            columns = COLUMNS,
            lock = self.try_lock("$2"),
            table = self.table,
        )
    }

    /// One row: an expired row is reserved anew, every column of it. No row: another request was quicker.
    ///
    /// Locks the row until the transaction ends.
    pub(super) fn take_over(&self) -> String {
        let body = format!(
            "UPDATE {table} AS k SET scope = $2::text, key = $3::text, fingerprint = $4::bytea, \
                    fingerprint_version = $5::smallint, response_status = NULL, response_headers = NULL, \
                    response_body = NULL, created_at = now(), completed_at = NULL, \
                    expires_at = now() + make_interval(secs => $6::double precision) \
             FROM setup WHERE k.id = $1::uuid AND k.expires_at <= now() AND {lock} RETURNING {mark}",
            table = self.table,
            lock = self.try_lock("$7"),
            mark = self.mark(),
        );
        self.bounded("SELECT 1", &body, "written.*")
    }

    /// Exactly one row, or the transaction is not the one that reserved.
    ///
    /// `xmin` is this transaction's only if it wrote the row (PostgreSQL manual, 5.5 System Columns).
    pub(super) fn complete(&self) -> String {
        let own = if self.settings.xmin_check {
            "k.ctid = $1::text::tid AND k.xmin = pg_current_xact_id()::xid AND $6::text IS NOT NULL"
        } else {
            "$1::text IS NOT NULL AND current_setting('idempotency.run', true) = $6::text"
        };
        format!(
            "UPDATE {table} AS k SET {ANSWER} \
             WHERE k.id = $2::uuid AND k.response_status IS NULL AND {own} RETURNING true AS is_recorded",
            table = self.table,
        )
    }

    /// The same for a SERIALIZABLE transaction, but found as a conflict: that takes no predicate lock, whereas a scan,
    /// which of a small table is always one of all its pages, would make unrelated transactions fail.
    ///
    /// Where there is no conflict the handler has deleted its row. The row that is inserted then says `false`, is
    /// expired from the start, and is rolled back.
    pub(super) fn complete_serializable(&self) -> String {
        format!(
            "INSERT INTO {table} AS k (id, scope, key, fingerprint, fingerprint_version, created_at, expires_at) \
             SELECT $2::uuid, '', '', '', 0, '-infinity', '-infinity' \
             WHERE {current} = $6::text AND $1::text IS NOT NULL \
             ON CONFLICT (id) DO UPDATE SET {ANSWER} WHERE k.response_status IS NULL AND {own} \
             RETURNING k.scope <> '' AS is_recorded",
            table = self.table,
            current = self.current_transaction(),
            own = if self.settings.xmin_check { "k.xmin = pg_current_xact_id()::xid" } else { "true" },
        )
    }

    /// One row, `true`: stored. Anything else: another request came in between. A transaction of its own.
    ///
    /// The times are those of the reservation that was rolled back, which `$8` gives in microseconds.
    pub(super) fn store_failed(&self) -> String {
        let body = format!(
            "INSERT INTO {table} AS k (id, scope, key, fingerprint, fingerprint_version, response_status, \
                    response_headers, response_body, created_at, completed_at, expires_at) \
             SELECT $1::uuid, $2::text, $3::text, $4::bytea, $5::smallint, $9::smallint, $10::bytea, $11::bytea, \
                    reserved.at, clock_timestamp(), reserved.at + make_interval(secs => $6::double precision) \
             FROM setup, (SELECT timestamptz 'epoch' + $8::bigint * interval '1 microsecond' AS at) AS reserved \
             WHERE {lock} \
             ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, key = excluded.key, \
                    fingerprint = excluded.fingerprint, fingerprint_version = excluded.fingerprint_version, \
                    response_status = excluded.response_status, response_headers = excluded.response_headers, \
                    response_body = excluded.response_body, created_at = excluded.created_at, \
                    completed_at = excluded.completed_at, expires_at = excluded.expires_at \
             WHERE k.expires_at <= now() RETURNING true AS stored",
            table = self.table,
            lock = self.try_lock("$7"),
        );
        self.bounded("SELECT 1", &body, "written.stored")
    }

    /// A row without an answer, if no live row is there. A transaction of its own.
    ///
    /// The times are those of the reservation that is gone, which `$8` gives in microseconds.
    pub(super) fn mark_broken(&self) -> String {
        let body = format!(
            "INSERT INTO {table} AS k (id, scope, key, fingerprint, fingerprint_version, created_at, expires_at) \
             SELECT $1::uuid, $2::text, $3::text, $4::bytea, $5::smallint, reserved.at, \
                    reserved.at + make_interval(secs => $6::double precision) \
             FROM setup, (SELECT timestamptz 'epoch' + $8::bigint * interval '1 microsecond' AS at) AS reserved \
             WHERE {lock} \
             ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, key = excluded.key, \
                    fingerprint = excluded.fingerprint, fingerprint_version = excluded.fingerprint_version, \
                    response_status = NULL, response_headers = NULL, response_body = NULL, \
                    created_at = excluded.created_at, completed_at = NULL, expires_at = excluded.expires_at \
             WHERE k.expires_at <= now() RETURNING true AS stored",
            table = self.table,
            lock = self.try_lock("$7"),
        );
        self.bounded("SELECT 1", &body, "written.stored")
    }

    /// One row, and whether the message is claimed by it. If not, the message has a row already.
    ///
    /// Waits for another transaction that holds the row, for at most `$6` milliseconds for each lock, or as long as the
    /// session waits if that is shorter; the session's own time-out is put back in the same statement. Locks the new row
    /// until the transaction ends.
    pub(super) fn claim(&self) -> String {
        claiming(&format!(
            "INSERT INTO {table} (id, scope, key, fingerprint, fingerprint_version, created_at, completed_at, expires_at) \
             SELECT $1::uuid, $2::text, $3::text, ''::bytea, $4::smallint, now(), clock_timestamp(), \
                    now() + make_interval(secs => $5::double precision) \
             FROM bound ON CONFLICT (id) DO NOTHING RETURNING true AS is_claimed",
            table = self.table,
        ))
    }

    /// The same for a row that has expired. If the message is not claimed by it, another transaction was quicker.
    pub(super) fn claim_expired(&self) -> String {
        claiming(&format!(
            "UPDATE {table} AS k SET scope = $2::text, key = $3::text, fingerprint = '', \
                    fingerprint_version = $4::smallint, response_status = NULL, response_headers = NULL, \
                    response_body = NULL, created_at = now(), completed_at = clock_timestamp(), \
                    expires_at = now() + make_interval(secs => $5::double precision) \
             FROM bound WHERE k.id = $1::uuid AND k.expires_at <= now() RETURNING true AS is_claimed",
            table = self.table,
        ))
    }

    /// The row that a claim has met, if it is still there. Locks nothing.
    pub(super) fn claimed(&self) -> String {
        format!(
            "SELECT k.scope, k.key, k.expires_at > now() AS live FROM {} AS k WHERE k.id = $1::uuid",
            self.table
        )
    }

    /// The live row, for an operator or a run that lost. Locks nothing.
    pub(super) fn find(&self) -> String {
        format!("SELECT {COLUMNS} FROM {} AS k WHERE k.id = $1::uuid AND k.expires_at > now()", self.table)
    }

    /// Locks the row. One that is not committed is not there yet.
    pub(super) fn forget(&self) -> String {
        format!(
            "DELETE FROM {} WHERE id = $1::uuid AND scope = $2::text AND key = $3::text RETURNING true",
            self.table
        )
    }

    /// Deletes up to `$1` expired rows, those first that expired first.
    ///
    /// Locks them until its transaction ends, and passes over those that are locked, as by a request that takes one over.
    pub(super) fn sweep(&self) -> String {
        // By place: joined back by `id`, a batch takes seven times as long.
        format!(
            "DELETE FROM {table} WHERE ctid = ANY (ARRAY(\
                 SELECT ctid FROM {table} WHERE expires_at <= now() \
                 ORDER BY expires_at LIMIT $1::bigint FOR UPDATE SKIP LOCKED))",
            table = self.table,
        )
    }

    /// One row: whether transactions may write, on a server where the table can be read. Locks nothing.
    ///
    /// It looks for a row that is not there, since a first row may be far behind those that were deleted.
    pub(super) fn takes_writes(&self) -> String {
        format!(
            "SELECT current_setting('transaction_read_only') = 'off' AS takes_writes \
             FROM (SELECT count(*) FROM {} WHERE id = '{}'::uuid) AS probed",
            self.table,
            Uuid::nil(),
        )
    }
}

/// `body` writes the row of a message under the bound of its wait, and returns whether it did.
///
/// The setting that tells whether the transaction is the one that claimed is that of its first claim.
fn claiming(body: &str) -> String {
    format!(
        "WITH prior AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout), \
         bound AS MATERIALIZED (SELECT \
            CASE WHEN lock_timeout::interval = interval '0' \
                   OR lock_timeout::interval > $6::bigint * interval '1 millisecond' \
                 THEN set_config('lock_timeout', $6::bigint::text, true) END, \
            set_config('{CLAIMS}', coalesce(nullif(current_setting('{CLAIMS}', true), ''), $1::uuid::text), true) \
            FROM prior), \
         written AS ({body}) \
         SELECT coalesce(written.is_claimed, false) AS is_claimed, {AGE}, \
                set_config('lock_timeout', prior.lock_timeout, true) \
         FROM prior LEFT JOIN written ON true"
    )
}

/// Opens a transaction for one statement. A client that drops off the network meanwhile must not hold the key.
///
/// Like [`begin_without_key`] it holds nothing that can fail.
pub(super) fn begin_alone(limit_ms: i64) -> String {
    format!("BEGIN; {}", lowered(&limit_ms.to_string(), ""))
}

/// Opens the transaction of a batch, and says whether it did: not on a connection that is in one already.
///
/// The session's own level may be one at which passing over a row that was taken over meanwhile is an error, and at
/// which what is read here makes the transactions of others fail.
pub(super) fn begin_sweep(limit_ms: i64) -> String {
    let begin = begin(Some(Isolation::ReadCommitted));
    // In one message with its BEGIN a transaction is as old as the statement, to the microsecond.
    format!("{begin}; {}", lowered(&limit_ms.to_string(), ", now() = statement_timestamp() AS is_own"))
}

/// What completing writes.
const ANSWER: &str = "response_status = $3::smallint, response_headers = $4::bytea, response_body = $5::bytea, \
    completed_at = clock_timestamp()";

/// How old the transaction is.
const AGE: &str = "(extract(epoch FROM statement_timestamp() - now()) * 1000000)::bigint AS age_micros";

/// What a row's reader needs.
const COLUMNS: &str = "k.scope, k.key, k.fingerprint, k.fingerprint_version, k.response_status, k.response_headers, \
    k.response_body, (extract(epoch FROM k.created_at) * 1000000)::bigint AS created_at_micros, \
    (extract(epoch FROM k.completed_at) * 1000000)::bigint AS completed_at_micros, \
    (extract(epoch FROM k.expires_at) * 1000000)::bigint AS expires_at_micros";
