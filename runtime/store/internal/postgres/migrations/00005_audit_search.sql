-- +goose Up
DROP TRIGGER audit_events_stay ON audit_events;
ALTER TABLE audit_events ADD COLUMN client text NOT NULL DEFAULT '', ADD COLUMN tool text NOT NULL DEFAULT '';
-- A client or a tool with a NUL in its name has no text here.
UPDATE audit_events SET client = left(coalesce(event::json ->> 'client_id', event::json ->> 'client', ''), 256), tool = left(coalesce(event::json ->> 'tool_name', event::json ->> 'tool', ''), 256)
    WHERE position('\u0000' in event) = 0;
-- The event has all of it; an index takes no more than some 2,700 bytes.
UPDATE audit_events SET request_id = left(request_id, 256), issuer = left(issuer, 256), principal = left(principal, 256), type = left(type, 256), status = left(status, 256)
    WHERE greatest(length(request_id), length(issuer), length(principal), length(type), length(status)) > 256;
DROP INDEX audit_events_principal;
CREATE INDEX audit_events_principal ON audit_events (principal, id);
CREATE INDEX audit_events_client ON audit_events (client, id);
CREATE INDEX audit_events_tool ON audit_events (tool, id);
CREATE INDEX audit_events_type ON audit_events (type, id);
CREATE INDEX audit_events_status ON audit_events (status, id);
CREATE INDEX audit_events_request ON audit_events (request_id, id);

-- What is older than a cut may be deleted, and nothing else. A cut is never taken back.
CREATE TABLE audit_cuts (
    id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    upto bigint NOT NULL CHECK (upto >= 0),
    at   timestamptz NOT NULL
);
-- Each record that is deleted is held against the newest cut.
CREATE INDEX audit_cuts_upto ON audit_cuts (upto);
CREATE TRIGGER audit_cuts_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_cuts
    FOR EACH STATEMENT EXECUTE FUNCTION audit_events_stay();
CREATE TRIGGER audit_events_stay BEFORE UPDATE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION audit_events_stay();
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

-- +goose Down
DROP TRIGGER audit_events_remain ON audit_events;
DROP FUNCTION audit_events_remain();
DROP TRIGGER audit_events_stay ON audit_events;
DROP TABLE audit_cuts;
DROP INDEX audit_events_request;
DROP INDEX audit_events_status;
DROP INDEX audit_events_type;
DROP INDEX audit_events_principal;
ALTER TABLE audit_events DROP COLUMN client, DROP COLUMN tool;
CREATE INDEX audit_events_principal ON audit_events (issuer, principal);
CREATE TRIGGER audit_events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION audit_events_stay();
