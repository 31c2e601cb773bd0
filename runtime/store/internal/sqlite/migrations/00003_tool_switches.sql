-- +goose Up
CREATE TABLE tool_switches (
    name       TEXT    NOT NULL PRIMARY KEY CHECK (name <> ''),
    is_off     INTEGER NOT NULL CHECK (is_off IN (0, 1)),
    updated_at INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE tool_switches;
