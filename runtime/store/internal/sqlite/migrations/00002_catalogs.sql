-- +goose Up
-- A catalog is global (both NULL), an organisation's or a team's. What owns it takes it along when it goes.
CREATE TABLE tool_catalogs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL CHECK (name <> ''),
    description TEXT    NOT NULL,
    org_id      INTEGER REFERENCES organizations (id) ON DELETE CASCADE,
    team_id     INTEGER REFERENCES teams (id) ON DELETE CASCADE,
    is_active   INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    version     INTEGER NOT NULL DEFAULT 1,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    CHECK (org_id IS NULL OR team_id IS NULL)
) STRICT;

-- NULLs are equal to nothing, so that each scope has an index of its own without any.
CREATE UNIQUE INDEX tool_catalogs_global ON tool_catalogs (name) WHERE org_id IS NULL AND team_id IS NULL;
CREATE UNIQUE INDEX tool_catalogs_of_org ON tool_catalogs (org_id, name) WHERE org_id IS NOT NULL;
CREATE UNIQUE INDEX tool_catalogs_of_team ON tool_catalogs (team_id, name) WHERE team_id IS NOT NULL;

CREATE TABLE tool_catalog_entries (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    catalog_id INTEGER NOT NULL REFERENCES tool_catalogs (id) ON DELETE CASCADE,
    tool_name  TEXT    NOT NULL CHECK (tool_name <> ''),
    module_id  TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (catalog_id, tool_name)
) STRICT;

-- +goose Down
DROP TABLE tool_catalog_entries;
DROP TABLE tool_catalogs;
