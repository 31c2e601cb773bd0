-- +goose Up
DROP TRIGGER audit_events_stay;
DROP TRIGGER audit_events_remain;
ALTER TABLE audit_events ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE audit_events ADD COLUMN tool TEXT NOT NULL DEFAULT '';
UPDATE audit_events SET client = substr(coalesce(event ->> '$.client_id', event ->> '$.client', ''), 1, 256), tool = substr(coalesce(event ->> '$.tool_name', event ->> '$.tool', ''), 1, 256);
-- The event has all of it.
UPDATE audit_events SET request_id = substr(request_id, 1, 256), issuer = substr(issuer, 1, 256), principal = substr(principal, 1, 256), type = substr(type, 1, 256), status = substr(status, 1, 256)
    WHERE max(length(request_id), length(issuer), length(principal), length(type), length(status)) > 256;
DROP INDEX audit_events_principal;
CREATE INDEX audit_events_principal ON audit_events (principal);
CREATE INDEX audit_events_client ON audit_events (client);
CREATE INDEX audit_events_tool ON audit_events (tool);
CREATE INDEX audit_events_type ON audit_events (type);
CREATE INDEX audit_events_status ON audit_events (status);
CREATE INDEX audit_events_request ON audit_events (request_id);

-- What is older than a cut may be deleted, and nothing else. A cut is never taken back.
CREATE TABLE audit_cuts (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    upto INTEGER NOT NULL CHECK (upto >= 0),
    at   INTEGER NOT NULL
) STRICT;
-- Each record that is deleted is held against the newest cut.
CREATE INDEX audit_cuts_upto ON audit_cuts (upto);
-- +goose StatementBegin
CREATE TRIGGER audit_cuts_stay BEFORE UPDATE ON audit_cuts
BEGIN
    SELECT RAISE(ABORT, 'cuts of the audit trail are append only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_cuts_remain BEFORE DELETE ON audit_cuts
BEGIN
    SELECT RAISE(ABORT, 'cuts of the audit trail are append only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_events_stay BEFORE UPDATE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit events are append only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_events_remain BEFORE DELETE ON audit_events
WHEN OLD.id > coalesce((SELECT max(upto) FROM audit_cuts), 0)
BEGIN
    SELECT RAISE(ABORT, 'audit events are append only');
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER audit_events_remain;
DROP TABLE audit_cuts;
DROP INDEX audit_events_request;
DROP INDEX audit_events_status;
DROP INDEX audit_events_type;
DROP INDEX audit_events_tool;
DROP INDEX audit_events_client;
DROP INDEX audit_events_principal;
ALTER TABLE audit_events DROP COLUMN tool;
ALTER TABLE audit_events DROP COLUMN client;
CREATE INDEX audit_events_principal ON audit_events (issuer, principal);
-- +goose StatementBegin
CREATE TRIGGER audit_events_remain BEFORE DELETE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit events are append only');
END;
-- +goose StatementEnd
