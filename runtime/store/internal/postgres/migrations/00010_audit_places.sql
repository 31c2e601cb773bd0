-- +goose Up
-- The indexes of this version are made after the migration, while servers write: see
-- migrate.Indexes.
--
-- A deletion is checked once, not for each row.
-- +goose StatementBegin
CREATE FUNCTION audit_events_remain_after_cut() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT max(id) FROM gone) > coalesce((SELECT max(upto) FROM audit_cuts), 0) THEN
        RAISE EXCEPTION 'audit events are append only';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_events_remain_after_cut AFTER DELETE ON audit_events
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION audit_events_remain_after_cut();
DROP TRIGGER audit_events_remain ON audit_events;
DROP FUNCTION audit_events_remain();

-- +goose Down
-- +goose StatementBegin
CREATE FUNCTION audit_events_remain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.id > coalesce((SELECT max(upto) FROM audit_cuts), 0) THEN
        RAISE EXCEPTION 'audit events are append only';
    END IF;
    RETURN OLD;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_events_remain BEFORE DELETE ON audit_events
    FOR EACH ROW EXECUTE FUNCTION audit_events_remain();
DROP TRIGGER audit_events_remain_after_cut ON audit_events;
DROP FUNCTION audit_events_remain_after_cut();
DROP INDEX IF EXISTS audit_events_by_time;
DROP INDEX IF EXISTS audit_events_by_principal;
DROP INDEX IF EXISTS audit_events_by_client;
DROP INDEX IF EXISTS audit_events_by_tool;
DROP INDEX IF EXISTS audit_events_by_type;
DROP INDEX IF EXISTS audit_events_by_status;
DROP INDEX IF EXISTS audit_events_by_request;
CREATE INDEX IF NOT EXISTS audit_events_at ON audit_events (at);
CREATE INDEX IF NOT EXISTS audit_events_principal ON audit_events (principal, id);
CREATE INDEX IF NOT EXISTS audit_events_client ON audit_events (client, id);
CREATE INDEX IF NOT EXISTS audit_events_tool ON audit_events (tool, id);
CREATE INDEX IF NOT EXISTS audit_events_type ON audit_events (type, id);
CREATE INDEX IF NOT EXISTS audit_events_status ON audit_events (status, id);
CREATE INDEX IF NOT EXISTS audit_events_request ON audit_events (request_id, id);
