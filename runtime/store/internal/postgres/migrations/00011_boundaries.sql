-- +goose Up
-- The text of a boundary is one JSON object, so that an earlier program finds a key that it does not
-- know. The audit trail keeps what a deleted boundary was.
CREATE TABLE boundaries (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version    bigint NOT NULL DEFAULT 1,
    issuer     text COLLATE "C" NOT NULL,
    client     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    actor      text COLLATE "C" NOT NULL,
    boundary   text NOT NULL CHECK (boundary LIKE '{%}'),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (issuer, client, subject, actor),
    CHECK ((client <> '') <> (actor <> '')),
    CHECK (subject = '' OR client NOT IN ('', '*'))
);

-- The clients that servers have seen. Anybody may register one, so old ones are deleted.
CREATE TABLE seen_clients (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    issuer   text COLLATE "C" NOT NULL,
    client   text COLLATE "C" NOT NULL CHECK (client <> ''),
    first_at timestamptz NOT NULL,
    last_at  timestamptz NOT NULL,
    UNIQUE (issuer, client)
);
CREATE INDEX seen_clients_last ON seen_clients (last_at, id);

-- +goose Down
DROP TABLE seen_clients;
DROP TABLE boundaries;
