-- +goose Up
-- The newest updates of resources. Each takes the place of an older one, so that the table stays small.
CREATE TABLE resource_updates (
    place  integer PRIMARY KEY,
    number bigint NOT NULL UNIQUE,
    uri    text NOT NULL
);
-- One row, which every update adds one to.
CREATE TABLE resource_update_count (
    id     integer PRIMARY KEY CHECK (id = 1),
    number bigint NOT NULL
);
INSERT INTO resource_update_count (id, number) VALUES (1, 0);

-- +goose Down
DROP TABLE resource_update_count;
DROP TABLE resource_updates;
