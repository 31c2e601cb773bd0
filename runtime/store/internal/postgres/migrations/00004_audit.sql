-- +goose Up
-- The event is the record, as text: jsonb has no place for some characters of JSON. The columns beside it are for looking it up.
CREATE TABLE audit_events (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL,
    type       text NOT NULL,
    status     text NOT NULL,
    request_id text NOT NULL,
    issuer     text NOT NULL,
    principal  text NOT NULL,
    event      text NOT NULL
);
CREATE INDEX audit_events_at ON audit_events (at);
CREATE INDEX audit_events_principal ON audit_events (issuer, principal);

-- +goose StatementBegin
CREATE FUNCTION audit_events_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit events are append only';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION audit_events_stay();

-- +goose Down
DROP TABLE audit_events;
DROP FUNCTION audit_events_stay();
