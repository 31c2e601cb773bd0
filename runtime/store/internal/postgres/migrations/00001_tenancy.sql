-- +goose Up
CREATE TABLE organizations (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text COLLATE "C" NOT NULL UNIQUE CHECK (name <> ''),
    version    bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE teams (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org_id     bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name       text COLLATE "C" NOT NULL CHECK (name <> ''),
    version    bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (org_id, name)
);

-- A membership is in an organisation or in a team: one of the two is NULL.
CREATE TABLE memberships (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org_id     bigint REFERENCES organizations (id) ON DELETE CASCADE,
    team_id    bigint REFERENCES teams (id) ON DELETE CASCADE,
    issuer     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL CHECK (subject <> ''),
    standing   text NOT NULL CHECK (standing IN ('owner', 'admin', 'lead', 'member')),
    version    bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CHECK ((org_id IS NULL) <> (team_id IS NULL))
);

-- NULLs are equal to nothing, so that each scope has an index of its own without any.
CREATE UNIQUE INDEX memberships_of_org ON memberships (org_id, issuer, subject) WHERE org_id IS NOT NULL;
CREATE UNIQUE INDEX memberships_of_team ON memberships (team_id, issuer, subject) WHERE team_id IS NOT NULL;
CREATE INDEX memberships_of_subject ON memberships (issuer, subject);

-- One row, which every change adds one to.
CREATE TABLE store_revision (
    id       integer PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
);
INSERT INTO store_revision (id, revision) VALUES (1, 0);

-- +goose Down
DROP TABLE store_revision;
DROP TABLE memberships;
DROP TABLE teams;
DROP TABLE organizations;
