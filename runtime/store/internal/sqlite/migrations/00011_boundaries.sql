-- +goose Up
-- The text of a boundary is one JSON object, so that an earlier program finds a key that it does not
-- know. The audit trail keeps what a deleted boundary was.
CREATE TABLE boundaries (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    version    INTEGER NOT NULL DEFAULT 1,
    issuer     TEXT    NOT NULL,
    client     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    boundary   TEXT    NOT NULL CHECK (boundary LIKE '{%}'),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (issuer, client, subject, actor),
    CHECK ((client <> '') <> (actor <> '')),
    CHECK (subject = '' OR client NOT IN ('', '*'))
) STRICT;

-- The clients that servers have seen. Anybody may register one, so old ones are deleted.
CREATE TABLE seen_clients (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    issuer   TEXT    NOT NULL,
    client   TEXT    NOT NULL CHECK (client <> ''),
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    UNIQUE (issuer, client)
) STRICT;
CREATE INDEX seen_clients_last ON seen_clients (last_at, id);

-- +goose Down
DROP TABLE seen_clients;
DROP TABLE boundaries;
