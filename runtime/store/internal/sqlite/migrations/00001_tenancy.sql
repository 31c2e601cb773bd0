-- +goose Up
CREATE TABLE organizations (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE CHECK (name <> ''),
    version    INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE teams (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id     INTEGER NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    name       TEXT    NOT NULL CHECK (name <> ''),
    version    INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (org_id, name)
) STRICT;

-- A membership is in an organisation or in a team: one of the two is NULL.
CREATE TABLE memberships (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    org_id     INTEGER REFERENCES organizations (id) ON DELETE CASCADE,
    team_id    INTEGER REFERENCES teams (id) ON DELETE CASCADE,
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL CHECK (subject <> ''),
    standing   TEXT    NOT NULL CHECK (standing IN ('owner', 'admin', 'lead', 'member')),
    version    INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((org_id IS NULL) <> (team_id IS NULL))
) STRICT;

-- NULLs are equal to nothing, so that each scope has an index of its own without any.
CREATE UNIQUE INDEX memberships_of_org ON memberships (org_id, issuer, subject) WHERE org_id IS NOT NULL;
CREATE UNIQUE INDEX memberships_of_team ON memberships (team_id, issuer, subject) WHERE team_id IS NOT NULL;
CREATE INDEX memberships_of_subject ON memberships (issuer, subject);

-- One row, which every change adds one to.
CREATE TABLE store_revision (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL
) STRICT;
INSERT INTO store_revision (id, revision) VALUES (1, 0);

-- +goose Down
DROP TABLE store_revision;
DROP TABLE memberships;
DROP TABLE teams;
DROP TABLE organizations;
