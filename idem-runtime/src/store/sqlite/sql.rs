//! The text of the statements, in the order of a request's life.

/// Milliseconds since 1970-01-01 UTC by SQLite's clock, which stands still within a statement.
pub(super) const NOW: &str = "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)";

/// Marks the transaction of the engine's in which a message was claimed.
pub(super) const MARK_CLAIM: &str = "SAVEPOINT idempotency_claim";

/// Takes the mark back, and fails in any other transaction.
pub(super) const RELEASE_CLAIM: &str = "RELEASE idempotency_claim";

/// The text of the statements.
///
/// `?1` to `?6` are the same in all that reserve: id, scope, key, fingerprint, its version, the TTL in milliseconds.
pub(super) struct Sql<'a> {
    pub(super) table: &'a str,
}

impl Sql<'_> {
    /// One row: reserved, in place of an expired row if there was one. No row: a live row is there.
    ///
    /// The transaction holds the file's write lock already.
    pub(super) fn reserve(&self) -> String {
        format!(
            "INSERT INTO {table} AS k (id, scope, key, fingerprint, fingerprint_version, created_at, expires_at) \
             SELECT ?1, ?2, ?3, ?4, ?5, clock.now, clock.now + ?6 FROM (SELECT {NOW} AS now) AS clock WHERE true \
             ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, key = excluded.key, \
                    fingerprint = excluded.fingerprint, fingerprint_version = excluded.fingerprint_version, \
                    response_status = NULL, response_headers = NULL, response_body = NULL, \
                    created_at = excluded.created_at, completed_at = NULL, expires_at = excluded.expires_at \
             WHERE k.expires_at <= {NOW} RETURNING rowid, created_at",
            table = self.table,
        )
    }

    /// Exactly one row, or the row that was reserved is gone.
    pub(super) fn complete(&self) -> String {
        format!(
            "UPDATE {} SET response_status = ?3, response_headers = ?4, response_body = ?5, completed_at = {NOW} \
             WHERE rowid = ?1 AND id = ?2 AND response_status IS NULL",
            self.table,
        )
    }

    /// One row written: stored. None: another request came in between. A transaction of its own, so nothing is
    /// returned: sqlx would stop at the row and not see the COMMIT fail.
    ///
    /// The times are those of the reservation that was rolled back, which `?7` gives.
    pub(super) fn store_failed(&self) -> String {
        format!(
            "INSERT INTO {table} AS k (id, scope, key, fingerprint, fingerprint_version, response_status, \
                    response_headers, response_body, created_at, completed_at, expires_at) \
             SELECT ?1, ?2, ?3, ?4, ?5, ?8, ?9, ?10, ?7, {NOW}, ?7 + ?6 WHERE true \
             ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, key = excluded.key, \
                    fingerprint = excluded.fingerprint, fingerprint_version = excluded.fingerprint_version, \
                    response_status = excluded.response_status, response_headers = excluded.response_headers, \
                    response_body = excluded.response_body, created_at = excluded.created_at, \
                    completed_at = excluded.completed_at, expires_at = excluded.expires_at \
             WHERE k.expires_at <= {NOW}",
            table = self.table,
        )
    }

    /// One row written: claimed, in place of an expired row if there was one. None: a live row is there.
    ///
    /// Takes the file's write lock, if the transaction does not hold it already.
    pub(super) fn claim(&self) -> String {
        format!(
            "INSERT INTO {table} AS k (id, scope, key, fingerprint, fingerprint_version, created_at, completed_at, \
                    expires_at) \
             SELECT ?1, ?2, ?3, x'', ?4, clock.now, clock.now, clock.now + ?5 FROM (SELECT {NOW} AS now) AS clock \
             WHERE true \
             ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, key = excluded.key, \
                    fingerprint = excluded.fingerprint, fingerprint_version = excluded.fingerprint_version, \
                    response_status = NULL, response_headers = NULL, response_body = NULL, \
                    created_at = excluded.created_at, completed_at = excluded.completed_at, \
                    expires_at = excluded.expires_at \
             WHERE k.expires_at <= {NOW}",
            table = self.table,
        )
    }

    /// The live row, for an operator or a run that lost.
    pub(super) fn find(&self) -> String {
        format!(
            "SELECT scope, key, fingerprint, fingerprint_version, response_status, response_headers, response_body, \
                    created_at, completed_at, expires_at \
             FROM {} WHERE id = ?1 AND expires_at > {NOW}",
            self.table
        )
    }

    pub(super) fn forget(&self) -> String {
        format!("DELETE FROM {} WHERE id = ?1 AND scope = ?2 AND key = ?3", self.table)
    }

    /// Deletes up to `?1` expired rows, those first that expired first. A transaction of its own, which holds the
    /// file's write lock.
    pub(super) fn sweep(&self) -> String {
        format!(
            "DELETE FROM {table} WHERE rowid IN \
             (SELECT rowid FROM {table} WHERE expires_at <= {NOW} ORDER BY expires_at LIMIT ?1)",
            table = self.table,
        )
    }

    /// One row: that writes are taken, which no reader can tell, where the table can be read. It looks for a row that is
    /// not there.
    pub(super) fn takes_writes(&self) -> String {
        format!("SELECT count(*) >= 0 AS takes_writes FROM {} WHERE id = zeroblob(16)", self.table)
    }
}
