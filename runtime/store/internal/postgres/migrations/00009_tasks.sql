-- +goose Up
CREATE TABLE tasks (
    id         text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    issuer     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    client     text COLLATE "C" NOT NULL,
    expires_at timestamptz NOT NULL,
    due_at     timestamptz, -- when the task ends without a run or a client; NULL once it has ended
    record     text NOT NULL
);
CREATE INDEX tasks_of ON tasks USING hash (subject);
CREATE INDEX tasks_expire ON tasks (expires_at);

-- +goose Down
DROP TABLE tasks;
