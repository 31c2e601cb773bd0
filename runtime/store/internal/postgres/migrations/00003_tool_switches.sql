-- +goose Up
CREATE TABLE tool_switches (
    name       text COLLATE "C" NOT NULL PRIMARY KEY CHECK (name <> ''),
    is_off     boolean NOT NULL,
    updated_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE tool_switches;
