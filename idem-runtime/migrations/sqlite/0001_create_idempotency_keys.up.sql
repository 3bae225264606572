-- The key rows of idem-runtime: one row for each idempotency key within its scope.
-- Times are milliseconds since 1970-01-01 UTC.
CREATE TABLE IF NOT EXISTS idempotency_keys (
    -- First 16 bytes of a SHA-256 over scope and key.
    id                  BLOB    NOT NULL PRIMARY KEY,
    scope               TEXT    NOT NULL,
    key                 TEXT    NOT NULL,
    fingerprint         BLOB    NOT NULL,
    fingerprint_version INTEGER NOT NULL,
    -- Null while the first request runs, and in the row of a message.
    response_status     INTEGER,
    response_headers    BLOB,
    response_body       BLOB,
    created_at          INTEGER NOT NULL,
    completed_at        INTEGER,
    -- Set when the key is reserved and never updated.
    expires_at          INTEGER NOT NULL
) STRICT;

-- For the sweeper.
CREATE INDEX IF NOT EXISTS idempotency_keys_expires_at ON idempotency_keys (expires_at);
