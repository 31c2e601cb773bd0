-- +goose Up
-- Each change writes another number, so that a database that was restored is no other one of the same revision.
ALTER TABLE store_revision ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;

-- The permission is in canonical form. Its digest stands for all of it, which may be longer than an index takes.
CREATE TABLE grants (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    issuer     TEXT    NOT NULL,
    client     TEXT    NOT NULL CHECK (client <> ''),
    type       TEXT    NOT NULL CHECK (type <> ''),
    resource   TEXT    NOT NULL CHECK (resource <> ''),
    restricted INTEGER NOT NULL CHECK (restricted IN (0, 1)),
    params     TEXT    NOT NULL CHECK (params LIKE '{%}'),
    digest     TEXT    NOT NULL CHECK (digest LIKE 'sha256:%'),
    granted_by TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    UNIQUE (issuer, client, digest)
) STRICT;

-- The grant that came of a request may be revoked, and the request is still what it was: its number is no reference.
CREATE TABLE grant_requests (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    issuer     TEXT    NOT NULL,
    client     TEXT    NOT NULL CHECK (client <> ''),
    type       TEXT    NOT NULL CHECK (type <> ''),
    resource   TEXT    NOT NULL CHECK (resource <> ''),
    restricted INTEGER NOT NULL CHECK (restricted IN (0, 1)),
    params     TEXT    NOT NULL CHECK (params LIKE '{%}'),
    digest     TEXT    NOT NULL CHECK (digest LIKE 'sha256:%'),
    principal  TEXT    NOT NULL,
    tool       TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('open', 'approved', 'denied', 'withdrawn')),
    created_at INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by TEXT    NOT NULL,
    note       TEXT    NOT NULL,
    grant_id   INTEGER,
    CHECK ((status IN ('approved', 'denied')) = (decided_at IS NOT NULL)),
    CHECK ((status = 'approved') = (grant_id IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX grant_requests_open ON grant_requests (issuer, client, digest) WHERE status = 'open';
CREATE INDEX grant_requests_client ON grant_requests (client, id);
CREATE INDEX grant_requests_status ON grant_requests (status, id);

-- What was decided on stays so.
-- +goose StatementBegin
CREATE TRIGGER grant_requests_stay BEFORE UPDATE ON grant_requests
WHEN OLD.status <> 'open'
BEGIN
    SELECT RAISE(ABORT, 'the request has been decided on before');
END;
-- +goose StatementEnd

-- And for as long as somebody may ask for it.
-- +goose StatementBegin
CREATE TRIGGER grant_requests_remain BEFORE DELETE ON grant_requests
WHEN OLD.created_at > (CAST(strftime('%s', 'now') AS INTEGER) - 90 * 86400) * 1000000
BEGIN
    SELECT RAISE(ABORT, 'requests are kept for 90 days');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE grant_requests;
DROP TABLE grants;
ALTER TABLE store_revision DROP COLUMN epoch;
