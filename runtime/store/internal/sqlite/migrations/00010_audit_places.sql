-- +goose Up
-- The indexes of this version are made after the migration, one at a time: see migrate.Indexes.
SELECT 1;

-- +goose Down
DROP INDEX IF EXISTS audit_events_by_time;
DROP INDEX IF EXISTS audit_events_by_principal;
DROP INDEX IF EXISTS audit_events_by_client;
DROP INDEX IF EXISTS audit_events_by_tool;
DROP INDEX IF EXISTS audit_events_by_type;
DROP INDEX IF EXISTS audit_events_by_status;
DROP INDEX IF EXISTS audit_events_by_request;
CREATE INDEX IF NOT EXISTS audit_events_at ON audit_events (at);
CREATE INDEX IF NOT EXISTS audit_events_principal ON audit_events (principal);
CREATE INDEX IF NOT EXISTS audit_events_client ON audit_events (client);
CREATE INDEX IF NOT EXISTS audit_events_tool ON audit_events (tool);
CREATE INDEX IF NOT EXISTS audit_events_type ON audit_events (type);
CREATE INDEX IF NOT EXISTS audit_events_status ON audit_events (status);
CREATE INDEX IF NOT EXISTS audit_events_request ON audit_events (request_id);
