-- +goose Up
-- A catalog is global (both NULL), an organisation's or a team's. What owns it takes it along when it goes.
CREATE TABLE tool_catalogs (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text COLLATE "C" NOT NULL CHECK (name <> ''),
    description text NOT NULL,
    org_id      bigint REFERENCES organizations (id) ON DELETE CASCADE,
    team_id     bigint REFERENCES teams (id) ON DELETE CASCADE,
    is_active   boolean NOT NULL,
    version     bigint NOT NULL DEFAULT 1,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    CHECK (org_id IS NULL OR team_id IS NULL)
);

-- NULLs are equal to nothing, so that each scope has an index of its own without any.
CREATE UNIQUE INDEX tool_catalogs_global ON tool_catalogs (name) WHERE org_id IS NULL AND team_id IS NULL;
CREATE UNIQUE INDEX tool_catalogs_of_org ON tool_catalogs (org_id, name) WHERE org_id IS NOT NULL;
CREATE UNIQUE INDEX tool_catalogs_of_team ON tool_catalogs (team_id, name) WHERE team_id IS NOT NULL;

CREATE TABLE tool_catalog_entries (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    catalog_id bigint NOT NULL REFERENCES tool_catalogs (id) ON DELETE CASCADE,
    tool_name  text COLLATE "C" NOT NULL CHECK (tool_name <> ''),
    module_id  text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (catalog_id, tool_name)
);

-- +goose Down
DROP TABLE tool_catalog_entries;
DROP TABLE tool_catalogs;
