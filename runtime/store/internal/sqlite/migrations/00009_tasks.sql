-- +goose Up
CREATE TABLE tasks (
    id         TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    client     TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    due_at     INTEGER, -- when the task ends without a run or a client; NULL once it has ended
    record     TEXT    NOT NULL
) STRICT;
CREATE INDEX tasks_of ON tasks (issuer, subject);
CREATE INDEX tasks_expire ON tasks (expires_at);

-- +goose Down
DROP TABLE tasks;
