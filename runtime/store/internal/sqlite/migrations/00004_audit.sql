-- +goose Up
-- The event is the record. The columns beside it are for looking it up.
CREATE TABLE audit_events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    request_id TEXT    NOT NULL,
    issuer     TEXT    NOT NULL,
    principal  TEXT    NOT NULL,
    event      TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_events_at ON audit_events (at);
CREATE INDEX audit_events_principal ON audit_events (issuer, principal);

-- +goose StatementBegin
CREATE TRIGGER audit_events_stay BEFORE UPDATE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit events are append only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_events_remain BEFORE DELETE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit events are append only');
END;
-- +goose StatementEnd
-- REPLACE deletes what it replaces without a word to the trigger above.
-- +goose StatementBegin
CREATE TRIGGER audit_events_are_new BEFORE INSERT ON audit_events
WHEN EXISTS (SELECT 1 FROM audit_events WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'audit events are append only');
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE audit_events;
