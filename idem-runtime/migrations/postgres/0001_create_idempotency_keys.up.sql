-- The key rows of idem-runtime: one row for each idempotency key within its scope.
CREATE TABLE IF NOT EXISTS idempotency_keys (
    -- First 16 bytes of a SHA-256 over scope and key: half the index that the two texts would take.
    id                  uuid        NOT NULL PRIMARY KEY,
    scope               text        NOT NULL,
    key                 text        NOT NULL,
    fingerprint         bytea       NOT NULL,
    fingerprint_version smallint    NOT NULL,
    -- Null while the first request runs, and in the row of a message.
    response_status     smallint,
    response_headers    bytea,
    response_body       bytea,
    created_at          timestamptz NOT NULL,
    completed_at        timestamptz,
    -- Set when the key is reserved and never updated.
    expires_at          timestamptz NOT NULL
) WITH (fillfactor = 90);

-- For the sweeper. Nothing that completing a row changes is indexed, so that completing stays heap-only.
CREATE INDEX IF NOT EXISTS idempotency_keys_expires_at ON idempotency_keys (expires_at);
