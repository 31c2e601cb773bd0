-- +goose Up
-- Each change writes another number, so that a database that was restored is no other one of the same revision.
ALTER TABLE store_revision ADD COLUMN epoch bigint NOT NULL DEFAULT 0;

-- The permission is in canonical form. Its digest stands for all of it, which may be longer than an index takes.
CREATE TABLE grants (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    issuer     text COLLATE "C" NOT NULL,
    client     text COLLATE "C" NOT NULL CHECK (client <> ''),
    type       text COLLATE "C" NOT NULL CHECK (type <> ''),
    resource   text COLLATE "C" NOT NULL CHECK (resource <> ''),
    restricted boolean NOT NULL,
    params     text COLLATE "C" NOT NULL CHECK (params LIKE '{%}'),
    digest     text COLLATE "C" NOT NULL CHECK (digest LIKE 'sha256:%'),
    granted_by text NOT NULL,
    reason     text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    UNIQUE (issuer, client, digest)
);

-- The grant that came of a request may be revoked, and the request is still what it was: its number is no reference.
CREATE TABLE grant_requests (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    issuer     text COLLATE "C" NOT NULL,
    client     text COLLATE "C" NOT NULL CHECK (client <> ''),
    type       text COLLATE "C" NOT NULL CHECK (type <> ''),
    resource   text COLLATE "C" NOT NULL CHECK (resource <> ''),
    restricted boolean NOT NULL,
    params     text COLLATE "C" NOT NULL CHECK (params LIKE '{%}'),
    digest     text COLLATE "C" NOT NULL CHECK (digest LIKE 'sha256:%'),
    principal  text NOT NULL,
    tool       text NOT NULL,
    reason     text NOT NULL,
    status     text COLLATE "C" NOT NULL CHECK (status IN ('open', 'approved', 'denied', 'withdrawn')),
    created_at timestamptz NOT NULL,
    decided_at timestamptz,
    decided_by text NOT NULL,
    note       text NOT NULL,
    grant_id   bigint,
    CHECK ((status IN ('approved', 'denied')) = (decided_at IS NOT NULL)),
    CHECK ((status = 'approved') = (grant_id IS NOT NULL))
);
CREATE UNIQUE INDEX grant_requests_open ON grant_requests (issuer, client, digest) WHERE status = 'open';
CREATE INDEX grant_requests_client ON grant_requests (client, id);
CREATE INDEX grant_requests_status ON grant_requests (status, id);

-- What was decided on stays so.
-- +goose StatementBegin
CREATE FUNCTION grant_requests_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the request has been decided on before';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER grant_requests_stay BEFORE UPDATE ON grant_requests
    FOR EACH ROW WHEN (OLD.status <> 'open') EXECUTE FUNCTION grant_requests_stay();

-- And for as long as somebody may ask for it.
-- +goose StatementBegin
CREATE FUNCTION grant_requests_remain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'requests are kept for 90 days';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER grant_requests_remain BEFORE DELETE ON grant_requests
    FOR EACH ROW WHEN (OLD.created_at > now() - interval '90 days') EXECUTE FUNCTION grant_requests_remain();

-- +goose Down
DROP TABLE grant_requests;
DROP FUNCTION grant_requests_stay();
DROP FUNCTION grant_requests_remain();
DROP TABLE grants;
ALTER TABLE store_revision DROP COLUMN epoch;
